"""The Anthropic Messages API: one forced tool call, streamed, without the SDK's own retries."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adapters.bounded_call import SLACK, Beat, OutOfTime, within
from adapters.dialect import answered, malformed, merge_schema
from adapters.status import by_status
from controller.core.config import Clocks
from controller.core.errors import ControllerError
from controller.core.miss import Declined, Miss, TimedOut, Truncated, Unreachable
from controller.core.records import Prompt, Reply, Usage

_TOOL = "transition"


@dataclass(frozen=True, slots=True)
class AnthropicApi:
    """Claude over HTTP. `cache` is how long the prompt's beginning is kept: "5m" or "1h"."""

    model: str
    key: str
    base_url: str | None = None
    max_output_tokens: int = 8192
    clocks: Clocks = field(default_factory=Clocks)
    cache: str = "5m"

    @property
    def name(self) -> str:
        return f"anthropic_api:{self.model}"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        import anthropic

        client = anthropic.Anthropic(api_key=self.key, base_url=self.base_url, max_retries=0,
                                     timeout=self.clocks.total + SLACK)
        heard = _Heard()
        try:
            with client:
                return within(self.clocks, lambda beat: self._call(client, prompt, heard, beat),
                              client.close)
        except ControllerError:  # a lost lease
            raise
        except OutOfTime as out:
            return Miss(TimedOut(out.timer), f"anthropic: no whole answer ({out.timer.value})",
                        billed=True, usage=heard.told)
        except anthropic.APIStatusError as fault:
            return Miss(by_status(fault.status_code, fault.message, fault.response.headers,
                                  fault.body),  # type: ignore[arg-type]  # JSON, as it was parsed
                        f"{fault.status_code}: {fault.message}", billed=heard.begun,
                        usage=heard.told)
        except Exception as fault:  # noqa: BLE001  (the SDK lets httpx's and json's errors through)
            return Miss(Unreachable(), f"{type(fault).__name__}: {fault} "
                        f"({self.base_url or 'anthropic'})", billed=heard.begun, usage=heard.told)

    def _call(self, client: Any, prompt: Prompt, heard: "_Heard", beat: Beat) -> Reply | Miss:
        with client.messages.create(**self._request(prompt)) as events:
            _read(events, heard, beat)
        return _answer(heard)

    def _request(self, prompt: Prompt) -> dict[str, Any]:  # Any: arguments of the SDK's method
        kept = {"type": "ephemeral", **({"ttl": "1h"} if self.cache == "1h" else {})}
        return {
            "model": self.model, "max_tokens": self.max_output_tokens, "stream": True,
            "system": [{"type": "text", "text": text, "cache_control": kept}
                       for text in (prompt.skill, prompt.contract)],
            "messages": [{"role": "user", "content": prompt.volatile}],
            "tools": [{"name": _TOOL, "description": "Answer with the transition.",
                       "input_schema": merge_schema(prompt.schema)}],
            "tool_choice": {"type": "tool", "name": _TOOL},
        }


@dataclass(slots=True)
class _Heard:
    answers: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)  # names of what it called
    text: str = ""
    stop: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    begun: bool = False

    @property
    def told(self) -> Usage:
        """What it cost, as far as that was told."""
        return Usage(
            input=self.usage.get("input_tokens"), output=self.usage.get("output_tokens"),
            cache_read=self.usage.get("cache_read_input_tokens"),
            cache_write=self.usage.get("cache_creation_input_tokens"))


def _read(events: Iterable[Any], heard: _Heard, beat: Beat) -> None:  # Any: the SDK's event union
    for event in events:
        if event.type != "ping":
            beat()
        _hear(heard, event)


def _answer(heard: _Heard) -> Reply | Miss:
    usage, body = heard.told, (heard.answers or [heard.text])[0]
    match heard.stop:
        case None:
            return Miss(Unreachable(), "the stream ended before the answer did",
                        billed=heard.begun, usage=usage)
        case "max_tokens" | "model_context_window_exceeded":
            return Miss(Truncated(), body[:500], billed=True, usage=usage, body=body.encode())
        case "refusal":
            return Miss(Declined(), body[:500] or "refusal", billed=True, usage=usage)
        case _:  # the SDK's own list grows; what is no end of an answer was told above
            pass
    others = [name for name in heard.tools if name != _TOOL]
    if others:
        return malformed(f"expected the tool {_TOOL}, got {others[0][:80]}; there is no other",
                         usage)
    if len(heard.answers) > 1:
        return malformed(f"expected one answer, got {len(heard.answers)}; send one", usage)
    return answered(body, usage)


def _hear(heard: _Heard, event: Any) -> None:
    match event.type:
        case "message_start":
            heard.begun = True
            _count(heard, event.message.usage)
        case "content_block_start" if event.content_block.type == "tool_use":
            heard.answers.append("")
            heard.tools.append(event.content_block.name)
        case "content_block_delta" if event.delta.type == "input_json_delta" and heard.answers:
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
