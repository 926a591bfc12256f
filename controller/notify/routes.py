"""The ways by which a notice goes out, and an answer comes back. Each has ten seconds.

A route is only a way: whether an answer counts is decided by its token, not by where it is from.
"""

import json
import re
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import quote

from controller.core.canonical import JsonObject, JsonValue, canonical, entries, members
from controller.core.errors import WorldError
from controller.notify.replies import Answer, in_json, in_text
from controller.process import capture
from controller.web import Unreachable, exchange, host_of

_SECONDS = 10.0
_PAGE = 100  # comments


class Route(Protocol):
    """One way to a person. A token is good for the way by which it was sent, which has a `name`."""

    @property
    def name(self) -> str: ...

    def send(self, notice: JsonObject) -> tuple[Answer, ...]:
        """Tell him; what comes back at once. Raises Unreachable."""

    def poll(self) -> tuple[Answer, ...]:
        """What has come in since it was asked last. Raises Unreachable."""


@dataclass(frozen=True, slots=True)
class CommandRoute:
    """A command of the user's gets the notice on its standard input, and may print an answer."""

    argv: tuple[str, ...]
    folder: Path
    env: dict[str, str] = field(repr=False)
    name: str = "command"

    def send(self, notice: JsonObject) -> tuple[Answer, ...]:
        try:
            said = capture(self.argv, cwd=self.folder, env=self.env,
                           stdin=canonical(notice) + b"\n", timeout=_SECONDS * 3)
        except (OSError, WorldError) as fault:
            raise Unreachable(f"{self.argv[0]}: {fault}") from fault
        if said.exit:
            raise Unreachable(f"{self.argv[0]} exited with {said.exit}")
        return tuple(in_text(said.stdout.decode("utf-8", "replace"), "notify.command"))

    def poll(self) -> tuple[Answer, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """A POST of the notice; the response may hold an answer, or those that came since."""

    url: str
    secret: str = field(default="", repr=False)
    name: str = "webhook"

    def send(self, notice: JsonObject) -> tuple[Answer, ...]:
        body = canonical(notice)
        return tuple(in_json(_asked(self.url, body, self._headers(body)), "webhook"))

    def poll(self) -> tuple[Answer, ...]:
        return ()

    def _headers(self, body: bytes) -> dict[str, str]:
        import hmac

        if not self.secret:
            return {}
        mark = hmac.new(self.secret.encode(), body, "sha256").hexdigest()
        return {"X-Oneshot-Signature": f"sha256={mark}"}


@dataclass(slots=True)
class Ntfy:
    """A topic of an ntfy server, with buttons that post to another topic, which is polled."""

    server: str
    topic: str
    replies: str = ""
    token: str = field(default="", repr=False)
    since: str = "12h"
    name: str = "ntfy"

    def send(self, notice: JsonObject) -> tuple[Answer, ...]:
        asked = [entries(item) for item in members(notice["questions"])]
        actions: list[JsonValue] = [
            {"action": "http", "label": f"{word} {item['id']}", "clear": True, "method": "POST",
             "url": f"{self.server}/{quote(self.replies)}",
             "body": f"{word.lower()} {item['id']} {item['token']}"}
            for item in asked[-1:] if item["token"] and self.replies
            for word in ("Approve", "Deny")]
        lines = [str(notice["message"])]
        for item in asked[-1:]:  # which the buttons are for
            lines += [str(item["summary"]), *map(str, members(item["details"]))]
        _asked(self.server, canonical({
            "topic": self.topic, "title": f"oneshot: {notice['title']}",
            "message": "\n".join(filter(None, lines)) or str(notice["goal"]),
            "tags": [str(notice["event"])], "actions": actions}), self._headers())
        return ()

    def poll(self) -> tuple[Answer, ...]:
        if not self.replies:
            return ()
        address = f"{self.server}/{quote(self.replies)}/json?poll=1&since={quote(self.since)}"
        found: list[Answer] = []
        for line in _asked(address, None, self._headers()).splitlines():
            message = entries(_parsed(line))
            if message.get("event") == "message":
                self.since = str(message.get("id", self.since))
                found += in_text(str(message.get("message", "")), "ntfy")
        return tuple(found)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@dataclass(slots=True)
class Forge:
    """Comments of an issue or pull request on GitHub, or what speaks its API. Only what the listed
    people write counts.
    """

    api: str
    repo: str
    issue: int
    people: tuple[str, ...]
    token: str = field(default="", repr=False)
    last: int = 0
    page: int = 1
    name: str = "comment"

    def send(self, notice: JsonObject) -> tuple[Answer, ...]:
        lines = [_fenced([str(notice["title"]), str(notice["message"])])]
        for item in map(entries, members(notice["questions"])):
            lines += [f"{item['id']}:", _fenced([str(item["summary"]), *map(
                str, members(item["details"]))])]
            if item["token"]:
                lines.append(f"Answer with `/approve {item['id']} {item['token']}` or "
                             f"`/deny {item['id']} {item['token']} REASON`.")
        _asked(self._address, canonical({"body": "\n\n".join(filter(None, lines))}),
               self._headers())
        return ()

    def poll(self) -> tuple[Answer, ...]:
        found: list[Answer] = []
        while True:  # oldest first; the page that was not full is asked for again next time
            listed = members(_parsed(_asked(f"{self._address}?per_page={_PAGE}&page={self.page}",
                                            None, self._headers())))
            for comment in map(entries, listed):
                who, id = str(entries(comment.get("user")).get("login", "")), comment.get("id")
                if _number(id) > self.last and who in self.people:
                    found += in_text(str(comment.get("body", "")), f"comment of {who}")
                self.last = max(self.last, _number(id))
            if len(listed) < _PAGE:
                return tuple(found)
            self.page += 1

    @property
    def _address(self) -> str:
        return f"{self.api}/repos/{self.repo}/issues/{self.issue}/comments"

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/vnd.github+json", **(
            {"Authorization": f"Bearer {self.token}"} if self.token else {})}


@dataclass(frozen=True, slots=True)
class Apprise:
    """Whatever apprise reaches (the extra `notify`). Nothing comes back that way."""

    urls: tuple[str, ...] = field(repr=False)
    name: str = "apprise"

    def send(self, notice: JsonObject) -> tuple[Answer, ...]:
        try:
            apprise: Any = import_module("apprise")  # Any: an extra, which need not be here
        except ImportError as fault:
            raise Unreachable("apprise is not installed: pip install 'oneshot-controller[notify]'"
                              ) from fault
        sender = apprise.Apprise()
        for url in self.urls:
            sender.add(url)
        if not sender.notify(title=f"oneshot: {notice['title']}",
                             body=str(notice["message"] or notice["goal"])):
            raise Unreachable("apprise could not deliver it")
        return ()

    def poll(self) -> tuple[Answer, ...]:
        return ()


def _asked(address: str, body: bytes | None, headers: dict[str, str]) -> str:
    """What a server answers. Raises Unreachable."""
    answer = exchange("GET" if body is None else "POST", address, body, headers, _SECONDS)
    if answer.status >= 300:
        raise Unreachable(f"{host_of(address)}: HTTP Error {answer.status}")
    return answer.text


def _fenced(lines: list[str]) -> str:
    """Text that a forge shows as it is, whatever is in it."""
    text = "\n".join(filter(None, lines))
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=2) + 1)
    fence = max(fence, "```", key=len)
    return f"{fence}text\n{text}\n{fence}"


def _parsed(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except ValueError:
        return None


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
