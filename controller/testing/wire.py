"""What goes over the wire between a client and the loopback server: requests, answers, replies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Json = dict[str, Any]  # Any: parsed JSON, whose shape is the client's affair


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer says it cost. `input` None: a token for four characters of the prompt;
    `cached` is the part of it that was read from a cache.
    """

    input: int | None = None
    cached: int = 0
    output: int = 10


class Manner(Enum):
    """In which form a model says what it says."""

    WELL = "well"
    REFUSED = "refused"  # it declines
    CUT = "cut"  # the answer is as long as it may be, and not over
    EMPTY = "empty"  # it says nothing
    THOUGHTS = "thoughts"  # it only thinks; the text is what it thinks
    FOREIGN = "foreign"  # it calls a tool that there is not
    TWICE = "twice"  # it answers twice
    PLAIN = "plain"  # as text, where a tool call was asked for


class Delivery(Enum):
    """How the bytes of an answer reach the client."""

    WHOLE = "whole"
    SILENT = "silent"  # nothing comes, not even a status
    STALLED = "stalled"  # half of it, and then nothing
    DRIPPED = "dripped"  # so slowly that no read times out
    RESET = "reset"  # half of it, and the connection breaks
    ENDED = "ended"  # half of it, and an orderly end
    NOT_HTTP = "not http"  # a web page where an API was


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says. With a status other than 200, `text` is the provider's complaint, of the
    type `code` (by the status if it is empty).
    """

    text: str
    status: int = 200
    usage: Usage = Usage()
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = Manner.WELL
    delivery: Delivery = Delivery.WHOLE
    code: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request for a model's words, as it came. Header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    json: Json

    @property
    def text(self) -> str:
        """Everything the model is asked to read: instructions first, then the messages."""
        keys = ("system", "instructions", "input", "messages")
        return "\n".join(text for key in keys for text in _texts(self.json.get(key)))


@dataclass(frozen=True, slots=True)
class Turn:
    """One request with its answer; `number` makes its ids."""

    request: ModelRequest
    answer: Answer
    number: int

    @property
    def input(self) -> int:
        """Tokens of the prompt."""
        told = self.answer.usage.input
        return len(self.request.text) // 4 if told is None else told

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.request.json.get("model", "unnamed"))


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What goes back over HTTP."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = Delivery.WHOLE


def parsed_object(text: str) -> Json | None:
    """The JSON object that a text is, or None."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def typed(kind: str, **fields: object) -> str:
    """A server-sent event with its name."""
    return f"event: {kind}\n" + data({"type": kind, **fields})


def data(value: Json) -> str:
    """A server-sent event without one."""
    return f"data: {json.dumps(value)}\n\n"


def halves(text: str) -> Iterator[str]:
    """Two pieces, so that a client that keeps only the first or the last is caught."""
    middle = len(text) // 2
    return (half for half in (text[:middle], text[middle:]) if half)


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for key in ("text", "content", "output"):
                yield from _texts(value.get(key))
        case _:
            return
