"""The wire formats of three model APIs, as the loopback server speaks them.

Anthropic messages, OpenAI responses, OpenAI chat completions; whole or streamed, in the shapes the
providers document. Ids count up from 1: two equal runs get equal bytes.
"""

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]  # Any: parsed JSON, whose shape is the client's affair


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer says it cost. `cached` is the part of `input` that was read from a cache."""

    input: int = 20
    cached: int = 0
    output: int = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says. With a status other than 200, `text` is the provider's complaint."""

    text: str
    status: int = 200
    usage: Usage = Usage()
    headers: Mapping[str, str] = field(default_factory=dict)


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


class Api(enum.Enum):
    """A wire format, by the end of its path."""

    MESSAGES = "/messages"
    RESPONSES = "/responses"
    CHAT = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request with its answer; `number` makes its ids."""

    request: ModelRequest
    answer: Answer
    number: int

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


def api_of(path: str) -> Api | None:
    """The wire format that a path belongs to, if it asks a model for words."""
    bare = urlsplit(path).path.rstrip("/")
    return next((api for api in Api if bare.endswith(api.value)), None)


def side_answer(path: str) -> tuple[int, Json]:
    """What every other path gets."""
    if urlsplit(path).path.endswith("/count_tokens"):
        return 200, {"input_tokens": 1}
    return 404, {"error": {"type": "not_found_error", "message": f"no {path} on the model server"}}


def reply(api: Api, turn: Turn) -> HttpReply:
    """The answer in its wire format, whole or streamed as the request wants it."""
    if turn.answer.status != 200:
        return json_reply(turn.answer.status, _complaint(api, turn.answer), turn.answer.headers)
    match api:
        case Api.MESSAGES:
            whole = _message(turn)
            events = _message_events(whole, turn.answer.text)
        case Api.RESPONSES:
            whole = _response(turn)
            events = _response_events(whole)
        case Api.CHAT:
            whole = _completion(turn)
            events = _completion_events(whole, turn.request.json)
    if turn.request.json.get("stream") is True:
        body = "".join(events).encode()
        return HttpReply(200, "text/event-stream", body, turn.answer.headers)
    return json_reply(200, whole, turn.answer.headers)


def json_reply(status: int, whole: Json, headers: Mapping[str, str] | None = None) -> HttpReply:
    """A JSON document as a whole reply."""
    return HttpReply(status, "application/json", json.dumps(whole).encode(), headers or {})


def _complaint(api: Api, answer: Answer) -> Json:
    other = "invalid_request_error" if answer.status < 500 else "api_error"
    kind = _COMPLAINTS.get(answer.status, other)
    if api is Api.MESSAGES:
        return {"type": "error", "error": {"type": kind, "message": answer.text}}
    return {"error": {"type": kind, "code": kind, "message": answer.text, "param": None}}


_COMPLAINTS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _message(turn: Turn) -> Json:
    usage, block = turn.answer.usage, _block(turn)
    return {
        "id": f"msg_{turn.number:04}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input - usage.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        },
    }


def _block(turn: Turn) -> Json:
    tool, given = _wanted_tool(turn.request.json), parsed_object(turn.answer.text)
    if tool is None or given is None:
        return {"type": "text", "text": turn.answer.text}
    return {"type": "tool_use", "id": f"toolu_{turn.number:04}", "name": tool, "input": given}


def _wanted_tool(request: Json) -> str | None:
    choice = request.get("tool_choice") or {}
    if choice.get("type") == "tool":
        return str(choice["name"])
    names = [str(tool.get("name")) for tool in request.get("tools") or []]
    return "StructuredOutput" if "StructuredOutput" in names else None


def parsed_object(text: str) -> Json | None:
    """The JSON object that a text is, or None."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _message_events(whole: Json, text: str) -> Iterator[str]:
    block, usage = whole["content"][0], whole["usage"]
    start = whole | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    is_tool = block["type"] == "tool_use"
    kind, key = ("input_json_delta", "partial_json") if is_tool else ("text_delta", "text")
    empty: Json = {"input": {}} if is_tool else {"text": ""}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _typed("message_start", message=start)
    yield _typed("content_block_start", index=0, content_block=block | empty)
    for part in _halves(text):  # the text itself: a doubled key reaches the client doubled
        yield _typed("content_block_delta", index=0, delta={"type": kind, key: part})
    yield _typed("content_block_stop", index=0)
    yield _typed("message_delta", delta=ending, usage=usage)
    yield _typed("message_stop")


def _response(turn: Turn) -> Json:
    usage = turn.answer.usage
    part = {"type": "output_text", "text": turn.answer.text, "annotations": [], "logprobs": []}
    item = {"id": f"msg_{turn.number:04}", "type": "message", "role": "assistant"}
    return {
        "id": f"resp_{turn.number:04}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": turn.model,
        "output": [item | {"status": "completed", "content": [part]}],
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        },
    }


def _response_events(whole: Json) -> Iterator[str]:
    item = whole["output"][0]
    part = item["content"][0]
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    opened = item | {"status": "in_progress", "content": []}
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": opened}),
        ("response.content_part.added", at | {"part": part | {"text": ""}}),
        *(("response.output_text.delta", at | {"delta": d}) for d in _halves(part["text"])),
        ("response.output_text.done", at | {"text": part["text"], "logprobs": []}),
        ("response.content_part.done", at | {"part": part}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    for number, (kind, fields) in enumerate(events):
        yield _typed(kind, sequence_number=number, **fields)


def _completion(turn: Turn) -> Json:
    usage = turn.answer.usage
    message = {"role": "assistant", "content": turn.answer.text, "refusal": None}
    return {
        "id": f"chatcmpl-{turn.number:04}",
        "object": "chat.completion",
        "created": 0,
        "model": turn.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": usage.input,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens": usage.output,
            "completion_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        },
    }


def _completion_events(whole: Json, request: Json) -> Iterator[str]:
    chunk = whole | {"object": "chat.completion.chunk", "usage": None}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": half} for half in _halves(whole["choices"][0]["message"]["content"])]
    for delta in [*deltas, {}]:
        ending = None if delta else "stop"
        yield _data(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": ending}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        yield _data(chunk | {"choices": [], "usage": whole["usage"]})
    yield "data: [DONE]\n\n"


def _typed(kind: str, **fields: object) -> str:
    return f"event: {kind}\n" + _data({"type": kind, **fields})


def _data(value: Json) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _halves(text: str) -> Iterator[str]:
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
