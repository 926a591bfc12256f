"""HTTP requests of our own: bounded in time and size, never redirected with a token, with ETags.

A request that fails is not repeated here: every wait of a run is its own decision, and on record.
"""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Thread
from typing import Any, cast
from urllib.parse import urlsplit

from controller.core.canonical import JsonObject, JsonValue, canonical
from controller.core.errors import WorldError
from controller.core.redact import printable

SECONDS = 20.0
_WHOLE = 3  # times as long for a whole answer as for its next byte
_MOST = 8 * 1024 * 1024  # bytes of a response that are read
_PAGES = 50
_LINE = 300  # characters of a field
_NOT_HERE = (301, 302, 303, 307, 308)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')


def line_of(item: JsonObject, name: str) -> str:
    """A field of an answer in one line, without what could move a cursor; empty when it has none.
    """
    value = item.get(name)
    return "" if value is None else " ".join(printable(str(value)).split())[:_LINE]


def text_of(item: JsonObject, name: str) -> str:
    """As `line_of`. Raises Unreachable when the server has left it out."""
    if item.get(name) is None:
        raise Unreachable(f"the server's answer has no {name}")
    return line_of(item, name)


class Unreachable(WorldError):
    """A server could not be asked, or did not answer as it should. `status`: of its answer, if any;
    `until`: when it may be asked again, if it said: in seconds since the epoch, below zero in so
    many seconds from then on.
    """

    def __init__(self, message: str, status: int | None = None, until: float | None = None) -> None:
        super().__init__(message)
        self.status, self.until = status, until

    def rest(self, now: float) -> float:
        """For how many seconds the server does not want to be asked again."""
        if self.until is None:
            return 0.0
        return -self.until if self.until < 0 else max(0.0, self.until - now)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said: its status, the body, the headers by their names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8-sig", "replace")

    @property
    def json(self) -> JsonValue:
        """The body as JSON. Raises Unreachable when it is none."""
        try:
            return cast("JsonValue", json.loads(self.body or b"null"))  # as it was parsed
        except (ValueError, RecursionError):
            raise Unreachable("the server answered with something that is no JSON",
                              self.status) from None

    @property
    def next(self) -> str | None:
        """The address of the next page (RFC 8288), if there is one."""
        hit = _NEXT.search(self.headers.get("link", ""))
        return hit[1] if hit else None


@dataclass(frozen=True, slots=True)
class Web:
    """Requests with some headers, such as a token. What has not changed since it was asked for last
    is not sent again.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS
    _known: dict[str, Answer] = field(default_factory=dict, repr=False)

    def get(self, address: str) -> Answer:
        """What is at an address. Raises Unreachable for anything but a good answer."""
        known = self._known.get(address)
        tag = {"If-None-Match": known.headers["etag"]} if known else {}
        answer = self._asked("GET", address, None, {**self.headers, **tag}, (304,) if tag else ())
        if answer.status == 304 and known:
            return known
        if "etag" in answer.headers:
            self._known[address] = answer
        return answer

    def send(self, method: str, address: str, body: JsonValue) -> Answer:
        """The answer to a request with a JSON body. Raises Unreachable for any but a good one: the
        request may have been carried out all the same.
        """
        return self._asked(method, address, canonical(body), dict(self.headers))

    def pages(self, address: str) -> Iterator[JsonValue]:
        """What is on every page of a list (RFC 8288). Raises Unreachable when it has no end, or
        goes on at another server: our headers are not for that.
        """
        here = address
        for _ in range(_PAGES):
            answer = self.get(here)
            yield answer.json
            if answer.next is None:
                return
            here = answer.next
            if host_of(here) != host_of(address):
                raise Unreachable(f"{host_of(address)}: its list goes on at {host_of(here)}")
        raise Unreachable(f"{host_of(address)}: the list has more than {_PAGES} pages")

    def follow(self, address: str) -> Answer:
        """What is at an address, at the end of one redirect: that one goes without our headers."""
        answer = self._asked("GET", address, None, dict(self.headers), _NOT_HERE)
        there = answer.headers.get("location")
        if answer.status in _NOT_HERE and there:
            if urlsplit(there).scheme != urlsplit(address).scheme:
                raise Unreachable(f"{host_of(address)} leads to {host_of(there)}")
            return Web(seconds=self.seconds)._asked("GET", there, None, {})
        return answer

    def _asked(self, method: str, address: str, body: bytes | None, headers: dict[str, str],
               allowed: Collection[int] = ()) -> Answer:
        if self.headers and urlsplit(address).scheme != "https" and (
                urlsplit(address).hostname not in _LOOPBACK):
            raise Unreachable(f"{host_of(address)}: expected an address that begins with https://")
        answer = exchange(method, address, body, headers, self.seconds)
        if answer.status < 300 or answer.status in allowed:
            return answer
        raise _refused(address, answer)


def exchange(method: str, address: str, body: bytes | None, headers: Mapping[str, str],
             seconds: float) -> Answer:
    """What a server answers, whatever that is; no redirect is followed, since it would carry a
    token elsewhere. Raises Unreachable when it does not answer.
    """
    if not address.startswith(("https://", "http://")):
        raise Unreachable(f"{host_of(address)}: expected an address that begins with https://")
    found: list[Answer | Unreachable] = []
    thread = Thread(target=lambda: found.append(_answer(method, address, body, headers, seconds)),
                    daemon=True)
    thread.start()
    thread.join(seconds * _WHOLE)  # whoever sends a byte now and then would never be done
    if not found:
        raise Unreachable(f"{host_of(address)}: no whole answer in {seconds * _WHOLE:.0f} s")
    if isinstance(found[0], Unreachable):
        raise found[0]
    return found[0]


def _answer(method: str, address: str, body: bytes | None, headers: Mapping[str, str],
            seconds: float) -> "Answer | Unreachable":
    asked = urllib.request.Request(address, data=body, method=method, headers={  # noqa: S310  (looked at above)
        "User-Agent": "oneshot", "Content-Type": "application/json", **headers})
    opener: Any = urllib.request.build_opener(_Closed)  # Any: typeshed has it return object
    try:
        try:
            said = opener.open(asked, timeout=seconds)
        except urllib.error.HTTPError as answered:
            said = answered
        with said:
            return Answer(said.status, cast("bytes", said.read(_MOST)),
                          {name.lower(): value for name, value in said.headers.items()})
    except (OSError, HTTPException, ValueError) as fault:
        return Unreachable(f"{host_of(address)}: {fault!s}" if str(fault) else
                           f"{host_of(address)}: {type(fault).__name__}")


class _Closed(urllib.request.HTTPRedirectHandler):
    """Follows none."""

    def redirect_request(self, *_: object) -> None:
        return None


def host_of(address: str) -> str:
    """So much of an address as may be shown: paths and queries can be secrets."""
    return "/".join(address.split("/")[:3])


def _refused(address: str, answer: Answer) -> Unreachable:
    """What a status means, and when it is over if the server says so."""
    wait, reset = answer.headers.get("retry-after", ""), answer.headers.get("x-ratelimit-reset", "")
    limited = answer.status == 429 or answer.headers.get("x-ratelimit-remaining") == "0"
    until = float(reset) if limited and reset.isdecimal() else None
    if wait.isdecimal():
        until = -float(wait)
    what = ": its rate limit is used up" if limited else ""
    # Its words are not told: they are anybody's, and would go on as ours.
    return Unreachable(f"{host_of(address)} answered {answer.status}{what}", answer.status, until)
