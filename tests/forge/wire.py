"""HTTP as the stand-in forge sees it: requests, replies, faults, pages and routes."""

import enum
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, unquote, urlencode

Json = dict[str, Any]  # Any: JSON on its way to or from a client, which is what knows its shape

T = TypeVar("T")
H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came. `origin` is the address it came to; header names are lower case."""

    method: str
    target: str
    origin: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The path, still percent-encoded: a GitLab project is one segment with a %2F in it."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters; of one that is repeated, the last."""
        pairs = parse_qs(self.target.partition("?")[2], keep_blank_values=True)
        return {name: values[-1] for name, values in pairs.items()}

    @property
    def json(self) -> Json:
        """The object in the body, empty when there is none."""
        try:
            value = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back over HTTP."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(status: int, value: object, headers: Mapping[str, str] | None = None) -> Reply:
    """A reply with a JSON body."""
    named = {"content-type": "application/json; charset=utf-8", **(headers or {})}
    return Reply(status, json.dumps(value).encode(), named)


def text_reply(status: int, text: str) -> Reply:
    """A reply with a plain-text body."""
    return Reply(status, text.encode(), {"content-type": "text/plain; charset=utf-8"})


def revalidated(request: Request, reply: Reply) -> Reply:
    """The reply with its ETag, or a 304 when the client has that one already."""
    if request.method != "GET" or reply.status != 200:
        return reply
    tag = f'"{hashlib.sha256(reply.body).hexdigest()}"'
    tagged = replace(reply, headers={**reply.headers, "etag": f"W/{tag}"})
    known = request.headers.get("if-none-match", "").split(",")
    if tag in (each.strip().removeprefix("W/") for each in known):
        return replace(tagged, status=304, body=b"")
    return tagged


class Cut(enum.Enum):
    """A connection that ends without an answer: in an orderly way, or by a TCP reset."""

    CLOSE = "close"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens, once, to the next request of this method whose path has this prefix.

    With `performed` the forge does what was asked before the fault hides it.
    """

    method: str
    prefix: str
    answer: Reply | Cut
    performed: bool = False


def server_error(method: str, prefix: str, status: int = 502) -> Fault:
    """A 500 or 502 with the HTML page of a proxy, not JSON."""
    page = Reply(status, b"<html><h1>Server Error</h1></html>", {"content-type": "text/html"})
    return Fault(method, prefix, page)


def rate_limited(method: str, prefix: str, reset: int) -> Fault:
    """GitHub's hourly limit is used up until `reset`, in seconds since 1970."""
    spent = {"limit": 5000, "remaining": 0, "used": 5000, "reset": reset, "resource": "core"}
    headers = {f"x-ratelimit-{name}": str(value) for name, value in spent.items()}
    message = "API rate limit exceeded for user ID 1."
    return Fault(method, prefix, json_reply(403, {"message": message, "status": "403"}, headers))


def slow_down(method: str, prefix: str, retry_after: int = 1) -> Fault:
    """A 429 that says when to come back."""
    headers = {"retry-after": str(retry_after)}
    message = "You have exceeded a secondary rate limit. Please wait a few minutes."
    return Fault(method, prefix, json_reply(429, {"message": message, "status": "429"}, headers))


def lost_write(method: str, prefix: str) -> Fault:
    """The request is carried out, then the connection closes without a response."""
    return Fault(method, prefix, Cut.CLOSE, performed=True)


def reset(method: str, prefix: str) -> Fault:
    """The connection is reset before anything is done."""
    return Fault(method, prefix, Cut.RESET)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was served. `path` has its query; `status` is None when no answer went out."""

    method: str
    path: str
    status: int | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Page `number` (from 1) of a list of `total` items, with at most `size` on a page."""

    items: list[T]
    number: int
    size: int
    total: int

    @property
    def last(self) -> int:
        """The number of the last page; an empty list has one page."""
        return max(1, -(-self.total // self.size))

    def link(self, request: Request, path: str, *, ends: bool = False) -> str:
        """The Link header; links keep the query's parameters.

        `first` and `last` are there when they are not this page, or always with `ends`.
        """
        at, before, after = self.number, self.number > 1, self.number < self.last
        targets = [
            ("prev", at - 1, before),
            ("next", at + 1, after),
            ("last", self.last, after or ends),
            ("first", 1, before or ends),
        ]
        return ", ".join(
            f'<{request.origin}{path}?{urlencode({**request.query, "page": page})}>; rel="{rel}"'
            for rel, page, there in targets
            if there
        )


def page_of(request: Request, items: Sequence[T], default_size: int) -> Page[T]:
    """The page that a request's `page` and `per_page` ask for; no page has more than 100 items."""
    size = min(_positive(request.query.get("per_page"), default_size), 100)
    number = _positive(request.query.get("page"), 1)
    start = (number - 1) * size
    return Page(list(items[start : start + size]), number, size, len(items))


def find(routes: Mapping[str, H], method: str, path: str) -> tuple[H, str] | None:
    """The first route that matches, with what its placeholder stood for, decoded.

    A route reads `GET /issues/{n}`. It has at most one placeholder: `{n}` is a number, and `{ref}`
    is anything, slashes too.
    """
    for route, handler in routes.items():
        verb, _, template = route.partition(" ")
        pattern = template.replace("{n}", r"(\d+)").replace("{ref}", "(.+)")
        found = re.fullmatch(pattern, path)
        if verb == method and found:
            return handler, unquote("".join(found.groups()))
    return None


def _positive(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and int(text) > 0 else default
