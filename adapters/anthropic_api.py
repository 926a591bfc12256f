"""The Anthropic Messages API: one forced tool call, streamed, without the SDK's own retries."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adapters.bounded_call import within
from adapters.dialect import merge_schema
from controller.core.errors import ControllerError, ModelUnavailable, ModelUnusable
from controller.core.records import Prompt, Reply, Usage

_TOOL = "transition"


@dataclass(frozen=True, slots=True)
class AnthropicApi:
    """Claude over HTTP. Times in seconds."""

    model: str
    key: str
    base_url: str | None = None
    max_output_tokens: int = 8192
    total_timeout: float = 600.0
    idle_timeout: float = 180.0

    @property
    def name(self) -> str:
        return f"anthropic_api:{self.model}"

    def propose(self, prompt: Prompt) -> Reply:
        import anthropic

        try:
            return within(self.total_timeout, lambda: self._call(prompt))
        except ControllerError:  # ours, and a lost lease
            raise
        except anthropic.APIStatusError as fault:
            raise _failure(fault.status_code, fault.message) from fault
        except Exception as fault:  # the SDK lets httpx's and json's errors through
            where = self.base_url or "its own address"
            raise ModelUnavailable(f"anthropic at {where}: {type(fault).__name__}: {fault}"
                                   ) from fault

    def _call(self, prompt: Prompt) -> Reply:
        import anthropic

        client = anthropic.Anthropic(api_key=self.key, base_url=self.base_url, max_retries=0,
                                     timeout=self.idle_timeout)
        with client, client.messages.create(**self._request(prompt)) as events:
            return _read(events)

    def _request(self, prompt: Prompt) -> dict[str, Any]:  # Any: arguments of the SDK's method
        return {
            "model": self.model, "max_tokens": self.max_output_tokens, "stream": True,
            "system": [{"type": "text", "text": prompt.stable,
                        "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": prompt.volatile}],
            "tools": [{"name": _TOOL, "description": "Answer with the transition.",
                       "input_schema": merge_schema(prompt.schema)}],
            "tool_choice": {"type": "tool", "name": _TOOL},
        }


@dataclass(slots=True)
class _Heard:
    answers: list[str] = field(default_factory=list)
    text: str = ""
    stop: str | None = None
    usage: dict[str, int] = field(default_factory=dict)


def _read(events: Iterable[Any]) -> Reply:  # Any: the SDK's event union
    heard = _Heard()
    for event in events:
        _hear(heard, event)
    usage = Usage(input=heard.usage.get("input_tokens"), output=heard.usage.get("output_tokens"),
                  cache_read=heard.usage.get("cache_read_input_tokens"),
                  cache_write=heard.usage.get("cache_creation_input_tokens"))
    if heard.stop is None:
        raise ModelUnavailable("anthropic: the stream ended before the answer did")
    if heard.stop == "max_tokens":
        return Reply(b"", usage, "your answer was cut off: it is too long; send a shorter one")
    if heard.stop == "refusal":
        return Reply(b"", usage, "you declined to answer; answer with the JSON object")
    if len(heard.answers) > 1:
        return Reply(b"", usage, f"expected one answer, got {len(heard.answers)}; send one")
    return Reply("".join(heard.answers or [heard.text]).encode("utf-8", "surrogatepass"), usage)


def _hear(heard: _Heard, event: Any) -> None:
    match event.type:
        case "message_start":
            _count(heard, event.message.usage)
        case "content_block_start" if event.content_block.type == "tool_use":
            heard.answers.append("")
        case "content_block_delta" if event.delta.type == "input_json_delta":
            heard.answers[-1] += event.delta.partial_json
        case "content_block_delta" if event.delta.type == "text_delta":
            heard.text += event.delta.text
        case "message_delta":
            heard.stop = event.delta.stop_reason
            _count(heard, event.usage)
        case _:
            return


def _count(heard: _Heard, usage: Any) -> None:
    for name in ("input_tokens", "output_tokens", "cache_read_input_tokens",
                 "cache_creation_input_tokens"):
        number = getattr(usage, name, None)
        if number is not None:
            heard.usage[name] = number


def _failure(status: int, words: str) -> ModelUnavailable | ModelUnusable:
    """A status of 200 here is an error inside a stream."""
    said = f"anthropic: {status}: {words}"
    return ModelUnusable(said) if 400 <= status < 500 and status not in (408, 409, 429) else (
        ModelUnavailable(said))
