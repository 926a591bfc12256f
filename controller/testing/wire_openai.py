"""The shapes of the two OpenAI APIs, whole and streamed, as the provider documents them."""

from collections.abc import Iterator

from controller.testing.wire import Json, Manner, Turn, data, halves, typed


def response(turn: Turn) -> Json:
    """A response of the Responses API."""
    usage, manner = turn.answer.usage, turn.answer.manner
    cut = manner is Manner.CUT
    return {
        "id": f"resp_{turn.number:04}",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "model": turn.model,
        "output": _items(turn),
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": turn.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.input + usage.output,
        },
    }


def _items(turn: Turn) -> list[Json]:
    text, number = turn.answer.text, turn.number
    if tool := _forced(turn.request.json):
        return [_function_call(number, tool, text)]
    said = _message(number, _output(text))
    odd: dict[Manner, list[Json]] = {
        Manner.EMPTY: [],
        Manner.THOUGHTS: [{"id": f"rs_{number:04}", "type": "reasoning", "summary": [
            {"type": "summary_text", "text": text}]}],
        Manner.FOREIGN: [_function_call(number, "shell", '{"command": ["ls"]}')],
        Manner.REFUSED: [_message(number, {"type": "refusal", "refusal": text})],
        Manner.TWICE: [said, _message(number + 5000, _output(text))]}
    return odd.get(turn.answer.manner, [said])


def _function_call(number: int, name: str, arguments: str) -> Json:
    return {"id": f"fc_{number:04}", "type": "function_call", "call_id": f"call_{number:04}",
            "name": name, "arguments": arguments, "status": "completed"}


def _output(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(number: int, part: Json) -> Json:
    return {"id": f"msg_{number:04}", "type": "message", "role": "assistant",
            "status": "completed", "content": [part]}


def _forced(request: Json) -> str:
    """The tool that a request insists on."""
    choice = request.get("tool_choice")
    if not isinstance(choice, dict):
        return ""
    return str(choice.get("name") or (choice.get("function") or {}).get("name") or "")


def response_events(whole: Json) -> Iterator[str]:
    """The same, streamed."""
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": begun}), ("response.in_progress", {"response": begun})]
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item)
    events.append((f"response.{whole['status']}", {"response": whole}))
    for number, (kind, fields) in enumerate(events):
        yield typed(kind, sequence_number=number, **fields)


def _item_events(index: int, item: Json) -> Iterator[tuple[str, Json]]:
    at = {"item_id": item["id"], "output_index": index}
    opened = item | ({"content": []} if item["type"] == "message" else {})
    yield "response.output_item.added", {"output_index": index, "item": opened}
    if item["type"] == "message":
        yield from _part_events({**at, "content_index": 0}, item["content"][0])
    yield "response.output_item.done", {"output_index": index, "item": item}


def _part_events(at: Json, part: Json) -> Iterator[tuple[str, Json]]:
    name = "refusal" if part["type"] == "refusal" else "text"
    kind = "refusal" if name == "refusal" else "output_text"
    yield "response.content_part.added", at | {"part": part | {name: ""}}
    for delta in halves(part[name]):
        yield f"response.{kind}.delta", at | {"delta": delta}
    yield f"response.{kind}.done", at | {name: part[name], "logprobs": []}
    yield "response.content_part.done", at | {"part": part}


def completion(turn: Turn) -> Json:
    """A completion of the Chat Completions API."""
    usage, ending = turn.answer.usage, "stop"
    message: Json = {"role": "assistant", "content": turn.answer.text, "refusal": None}
    tool = _forced(turn.request.json)
    calls = {Manner.FOREIGN: [("shell", '{"command": ["ls"]}')]}.get(
        turn.answer.manner, [(tool, turn.answer.text)] if tool else [])
    if calls:
        message |= {"content": None, "tool_calls": [
            {"id": f"call_{turn.number:04}", "type": "function",
             "function": {"name": name, "arguments": text}} for name, text in calls]}
        ending = "tool_calls"
    match turn.answer.manner:
        case Manner.EMPTY:
            message |= {"content": ""}
        case Manner.THOUGHTS:
            message |= {"content": "", "reasoning_content": turn.answer.text}
        case Manner.REFUSED:
            message |= {"content": None, "refusal": turn.answer.text}
        case Manner.CUT:
            ending = "length"
        case Manner.TWICE:
            message |= {"content": f"{turn.answer.text}\n{turn.answer.text}"}
        case Manner.WELL | Manner.PLAIN | Manner.FOREIGN:
            pass
    return {
        "id": f"chatcmpl-{turn.number:04}",
        "object": "chat.completion",
        "created": 0,
        "model": turn.model,
        "choices": [{"index": 0, "message": message, "logprobs": None,
                     "finish_reason": ending}],
        "usage": {
            "prompt_tokens": turn.input,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens": usage.output,
            "completion_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.input + usage.output,
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
