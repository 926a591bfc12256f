"""The shapes of the two OpenAI APIs, whole and streamed, as the provider documents them."""

from collections.abc import Iterator

from controller.testing.wire import Json, Turn, data, halves, typed


def response(turn: Turn) -> Json:
    """A response of the Responses API."""
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


def response_events(whole: Json) -> Iterator[str]:
    """The same, streamed."""
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
        *(("response.output_text.delta", at | {"delta": d}) for d in halves(part["text"])),
        ("response.output_text.done", at | {"text": part["text"], "logprobs": []}),
        ("response.content_part.done", at | {"part": part}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    for number, (kind, fields) in enumerate(events):
        yield typed(kind, sequence_number=number, **fields)


def completion(turn: Turn) -> Json:
    """A completion of the Chat Completions API."""
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


def completion_events(whole: Json, request: Json) -> Iterator[str]:
    """The same, streamed."""
    chunk = whole | {"object": "chat.completion.chunk", "usage": None}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": half} for half in halves(whole["choices"][0]["message"]["content"])]
    for delta in [*deltas, {}]:
        ending = None if delta else "stop"
        yield data(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": ending}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        yield data(chunk | {"choices": [], "usage": whole["usage"]})
    yield "data: [DONE]\n\n"
