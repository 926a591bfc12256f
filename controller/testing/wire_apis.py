"""The model APIs that the loopback server speaks: which path is which, and Anthropic's shapes.

Ids count up from 1: two equal runs get equal bytes.
"""

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from controller.testing import wire_openai as openai
from controller.testing.wire import (
    Answer,
    Delivery,
    HttpReply,
    Json,
    Manner,
    Turn,
    halves,
    typed,
)


class Api(enum.Enum):
    """A wire format, by the end of its path."""

    MESSAGES = "/messages"
    RESPONSES = "/responses"
    CHAT = "/chat/completions"


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
    return replace(_reply(api, turn), delivery=turn.answer.delivery)


def _reply(api: Api, turn: Turn) -> HttpReply:
    if turn.answer.delivery is Delivery.NOT_HTTP:
        return HttpReply(200, "text/html", b"<html><body>Please log in to the hotel</body></html>")
    if turn.answer.status != 200:
        return json_reply(turn.answer.status, _complaint(api, turn.answer), turn.answer.headers)
    match api:
        case Api.MESSAGES:
            whole = _message(turn)
            events = _message_events(whole)
        case Api.RESPONSES:
            whole = openai.response(turn)
            events = openai.response_events(whole)
        case Api.CHAT:
            whole = openai.completion(turn)
            events = openai.completion_events(whole, turn.request.json)
    if turn.request.json.get("stream") is True:
        body = "".join(events).encode()
        return HttpReply(200, "text/event-stream", body, turn.answer.headers)
    return json_reply(200, whole, turn.answer.headers)


def json_reply(status: int, whole: Json, headers: Mapping[str, str] | None = None) -> HttpReply:
    """A JSON document as a whole reply."""
    return HttpReply(status, "application/json", json.dumps(whole).encode(), headers or {})


def _complaint(api: Api, answer: Answer) -> Json:
    other = "invalid_request_error" if answer.status < 500 else "api_error"
    kind = answer.code or _COMPLAINTS.get(answer.status, other)
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
    usage, blocks = turn.answer.usage, _blocks(turn)
    return {
        "id": f"msg_{turn.number:04}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": blocks,
        "stop_reason": _STOPS.get(turn.answer.manner) or (
            "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": turn.input - usage.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        },
    }


_STOPS = {Manner.REFUSED: "refusal", Manner.CUT: "max_tokens"}


def _blocks(turn: Turn) -> list[Json]:
    """The content, with what a tool is called with as the very text: a doubled key stays doubled.
    """
    text, tool = turn.answer.text, _wanted_tool(turn.request.json)
    said = [{"type": "text", "text": text}]
    if tool and text.lstrip().startswith("{"):
        said = [_call(turn, tool)]
    match turn.answer.manner:
        case Manner.EMPTY:
            return []
        case Manner.THOUGHTS:
            return [{"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}]
        case Manner.FOREIGN:
            return [{**_call(turn, "Bash"), "input": '{"command": "ls"}'}]
        case Manner.TWICE:
            return said * 2 if tool else [{"type": "text", "text": f"{text}\n{text}"}]
        case Manner.PLAIN | Manner.REFUSED:
            return [{"type": "text", "text": text}]
        case Manner.WELL | Manner.CUT:
            return said


def _call(turn: Turn, tool: str) -> Json:
    return {"type": "tool_use", "id": f"toolu_{turn.number:04}", "name": tool,
            "input": turn.answer.text}


def _wanted_tool(request: Json) -> str | None:
    choice = request.get("tool_choice") or {}
    if choice.get("type") == "tool":
        return str(choice["name"])
    names = [str(tool.get("name")) for tool in request.get("tools") or []]
    return "StructuredOutput" if "StructuredOutput" in names else None


_DELTAS = {"tool_use": ("input", "input_json_delta", "partial_json"),
           "text": ("text", "text_delta", "text"),
           "thinking": ("thinking", "thinking_delta", "thinking")}
"""Kind of block -> its field, and how a part of it is told."""


def _message_events(whole: Json) -> Iterator[str]:
    usage = whole["usage"]
    start = whole | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield typed("message_start", message=start)
    for index, block in enumerate(whole["content"]):
        name, kind, key = _DELTAS[block["type"]]
        empty: Json = {name: {} if name == "input" else ""}
        yield typed("content_block_start", index=index, content_block=block | empty)
        for part in halves(block[name]):
            yield typed("content_block_delta", index=index, delta={"type": kind, key: part})
        yield typed("content_block_stop", index=index)
    yield typed("message_delta", delta=ending, usage=usage)
    yield typed("message_stop")
