"""The OpenAI APIs, Responses and Chat Completions, of OpenAI or of any server that speaks them.

Servers differ in what structure they can be held to. The dialects are tried in order, and what an
endpoint can do is remembered:

    strict  a strict JSON schema, in the ops dialect         OpenAI
    object  json_object with a schema beside it              llama.cpp
    tool    one forced tool call                             vLLM, Ollama
    plain   nothing but the prompt                           everybody

The SDK's own retries are off. A request that was turned down for its dialect is asked once more in
the next one: no model has seen it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adapters.bounded_call import SLACK, OutOfTime, within
from adapters.dialect import answered, grammar_schema, malformed, ops_schema
from adapters.endpoint import Endpoint
from adapters.status import by_status
from controller.core.config import Clocks
from controller.core.errors import ControllerError
from controller.core.miss import (
    Declined,
    Miss,
    TimedOut,
    TooLarge,
    Truncated,
    Unknown,
    Unreachable,
)
from controller.core.records import Prompt, Reply, Usage

_UNSUPPORTED = re.compile(r"response_format|json_schema|json_object|text\.format|tool_choice"
                          r"|\btools?\b|grammar|structured", re.IGNORECASE)

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)

_FEWEST = 12  # bytes that a token stands for, at most: a prompt with fewer tokens was cut


@dataclass(frozen=True, slots=True)
class OpenAiApi:
    """A model over HTTP. `api` is "responses" or "chat"; `dialect` one of `endpoint.DIALECTS`, or
    "auto". What endpoints can do is remembered in the file `memory`.
    """

    model: str
    key: str
    base_url: str | None = None
    api: str = "responses"
    dialect: str = "auto"
    max_output_tokens: int = 8192
    clocks: Clocks = field(default_factory=Clocks)
    thinking: bool = True
    memory: Path | None = None

    @property
    def name(self) -> str:
        return f"openai_api:{self.model}"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        endpoint = Endpoint(self.memory, f"{self.base_url} {self.api} {self.model}",
                            None if self.dialect == "auto" else self.dialect)
        while True:
            said = self._asked(prompt, endpoint)
            if isinstance(said, _Unsupported):
                if endpoint.lower():
                    continue
                return said.miss
            if isinstance(said, _Thoughts):
                endpoint.quieten()  # the next call is asked not to think
                return said.miss
            return said

    def _asked(self, prompt: Prompt,
               endpoint: Endpoint) -> "Reply | Miss | _Unsupported | _Thoughts":
        import openai

        client = openai.OpenAI(api_key=self.key, base_url=self.base_url, max_retries=0,
                               timeout=self.clocks.total + SLACK)
        try:
            with client:
                # Whole answers are asked for, so nothing comes before all of it does.
                return within(replace(self.clocks, first=self.clocks.total + SLACK),
                              lambda _: self._call(client, prompt, endpoint), client.close)
        except ControllerError:  # a lost lease
            raise
        except OutOfTime as out:
            return Miss(TimedOut(out.timer), f"openai: no whole answer ({out.timer.value})",
                        billed=True)
        except openai.APIStatusError as fault:
            return self._turned_down(fault, endpoint)
        except Exception as fault:  # noqa: BLE001  (the SDK lets httpx's and json's errors through)
            connected = "Connect" not in type(fault.__cause__).__name__
            return Miss(Unreachable(), f"{type(fault).__name__}: {fault} "
                        f"({self.base_url or 'openai'})", billed=connected)

    def _turned_down(self, fault: Any, endpoint: Endpoint) -> "Miss | _Unsupported":
        """A status that is an answer about our request, or about the dialect it was made in."""
        miss = Miss(by_status(fault.status_code, f"{fault.code or ''} {fault.message}",
                              fault.response.headers, fault.body),
                    f"{fault.status_code}: {fault.message}{self._hint(fault.status_code)}")
        about = (fault.status_code in (400, 404, 422, 500, 501)
                 and _UNSUPPORTED.search(str(fault.message)) and not isinstance(miss.why, TooLarge))
        return _Unsupported(miss) if about and endpoint.dialect != "plain" else miss

    def _hint(self, status: int) -> str:
        """What is most often wrong about a server of one's own that does not know the path."""
        lost = status == 404 and self.api == "responses" and self._local
        return "; a server like this may know `api: chat` only" if lost else ""

    def _call(self, client: Any, prompt: Prompt,
              endpoint: Endpoint) -> "Reply | Miss | _Thoughts":
        quiet = endpoint.quiet or not self.thinking
        if self.api == "chat":
            raw = client.chat.completions.create(**_CHAT[endpoint.dialect](prompt),
                                                 **self._messages(prompt, quiet=quiet))
            said = _of_chat(raw)
        else:
            raw = client.responses.create(**_RESPONSES[endpoint.dialect](prompt),
                                          **self._input(prompt, quiet=quiet))
            said = _of_responses(raw)
        if isinstance(said, Miss):
            return said
        if self._cut(prompt, said.usage):
            return Miss(TooLarge(), f"the server has read {said.usage.input} tokens of "
                        f"{len(prompt.text.encode())} bytes: it drops the front of what is longer "
                        "than its context", billed=True, usage=said.usage)
        found = answered(said.text, said.usage, ops=endpoint.dialect == "strict")
        return _Thoughts(found) if isinstance(found, Miss) and said.thought else found

    def _cut(self, prompt: Prompt, usage: Usage) -> bool:
        """Whether a server of one's own has read less than it was sent."""
        read = (usage.input or 0) + (usage.cache_read or 0)
        return bool(self.base_url and read and read * _FEWEST < len(prompt.text.encode()))

    def _messages(self, prompt: Prompt, *, quiet: bool) -> dict[str, Any]:  # Any: of the SDK's
        whole = self._local
        return {"model": self.model,
                ("max_tokens" if whole else "max_completion_tokens"): self.max_output_tokens,
                "messages": [{"role": "system", "content": prompt.stable},
                             {"role": "user", "content": prompt.volatile}],
                **self._quiet(quiet=quiet)}

    def _input(self, prompt: Prompt, *, quiet: bool) -> dict[str, Any]:  # Any: of the SDK's
        return {"model": self.model, "instructions": prompt.stable, "input": prompt.volatile,
                "store": False, "max_output_tokens": self.max_output_tokens,
                **self._quiet(quiet=quiet)}

    def _quiet(self, *, quiet: bool) -> dict[str, Any]:
        """No thinking: in the words of OpenAI, or of those who serve chat templates."""
        if not quiet:
            return {}
        if not self._local:
            return ({"reasoning_effort": "minimal"} if self.api == "chat"
                    else {"reasoning": {"effort": "minimal"}})
        return {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}

    @property
    def _local(self) -> bool:
        """Whether it is somebody else's server."""
        return bool(self.base_url) and not (
            urlsplit(self.base_url or "").hostname or "").endswith("openai.com")


@dataclass(frozen=True, slots=True)
class _Unsupported:
    """The endpoint can't be held to structure in this dialect."""

    miss: Miss


@dataclass(frozen=True, slots=True)
class _Thoughts:
    """Nothing came but thoughts."""

    miss: Miss


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model wrote; `thought`: as thoughts only, beside an empty answer."""

    text: str
    usage: Usage
    thought: bool = False


def _named(schema: object, *, strict: bool = True) -> dict[str, object]:
    return {"name": "transition", "strict": strict, "schema": schema}


def _function(prompt: Prompt) -> dict[str, object]:
    return {"name": "transition", "description": "Answer with the transition.",
            "parameters": grammar_schema(prompt.schema)}


_Ask = Callable[[Prompt], dict[str, Any]]  # Any: arguments of the SDK's method

_CHAT: Mapping[str, _Ask] = {
    "strict": lambda prompt: {"response_format": {
        "type": "json_schema", "json_schema": _named(ops_schema(prompt.schema))}},
    "object": lambda prompt: {"response_format": {
        "type": "json_object", "schema": grammar_schema(prompt.schema)}},
    "tool": lambda prompt: {
        "tools": [{"type": "function", "function": _function(prompt)}],
        "tool_choice": {"type": "function", "function": {"name": "transition"}}},
    "plain": lambda _: {},
}

_RESPONSES: Mapping[str, _Ask] = {
    "strict": lambda prompt: {"text": {"format": {
        "type": "json_schema", **_named(ops_schema(prompt.schema))}}},
    "object": lambda _: {"text": {"format": {"type": "json_object"}}},
    "tool": lambda prompt: {
        "tools": [{"type": "function", "strict": False, **_function(prompt)}],
        "tool_choice": {"type": "function", "name": "transition"}},
    "plain": lambda _: {},
}


def _of_responses(response: Any) -> _Said | Miss:
    if isinstance(response, str) or getattr(response, "status", None) is None:
        return Miss(Unreachable(), f"no response, but {str(response)[:200]!r}", billed=True)
    usage = _counted(response.usage, "input", "output")
    items = [item for item in response.output or () if item.type != "reasoning"]
    parts = [part for item in items if item.type == "message" for part in item.content]
    if response.status == "incomplete":
        reason = getattr(response.incomplete_details, "reason", None)
        why = Declined() if reason == "content_filter" else Truncated()
        return Miss(why, str(reason), billed=True, usage=usage)
    if response.status != "completed":
        error = response.error
        code = getattr(error, "code", "") or ""
        return Miss(by_status(200, code, {}, None) if error else Unknown(),
                    f"{response.status}: {getattr(error, 'message', '')}", billed=True, usage=usage)
    declined = [part.refusal for part in parts if part.type == "refusal"]
    if declined:
        return Miss(Declined(), str(declined[0])[:500], billed=True, usage=usage)
    calls = [(item.name, item.arguments) for item in items if item.type == "function_call"]
    texts = ["".join(part.text for part in item.content)
             for item in items if item.type == "message"]
    return _only(calls, texts, usage, "")


def _of_chat(completion: Any) -> _Said | Miss:
    if isinstance(completion, str) or not getattr(completion, "choices", None):
        error = getattr(completion, "error", None)
        code = error.get("code") if isinstance(error, dict) else None
        why = by_status(code, str(error), {}, {"error": error}) if isinstance(code, int) else (
            Unreachable())
        return Miss(why, f"no completion, but {str(error or completion)[:200]!r}")
    choice = completion.choices[0]
    message, usage = choice.message, _counted(completion.usage, "prompt", "completion")
    text = message.content or ""
    if choice.finish_reason == "length":
        return Miss(Truncated(), text[:500], billed=True, usage=usage, body=text.encode(
            "utf-8", "surrogatepass"))
    if message.refusal or choice.finish_reason == "content_filter":
        return Miss(Declined(), str(message.refusal or "content filter")[:500], billed=True,
                    usage=usage)
    if choice.finish_reason is None:
        return Miss(Unreachable(), "the answer did not end", billed=True, usage=usage)
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    found = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    thoughts = found if isinstance(found, str) else ""
    return _only(calls, [text] if text else [], usage, thoughts)


def _only(calls: list[tuple[str, str]], texts: list[str], usage: Usage,
          thoughts: str) -> _Said | Miss:
    """The one answer among calls of our tool and texts; thoughts where there is nothing else."""
    others = [name for name, _ in calls if name != "transition"]
    if others:
        return malformed(f"expected an answer only, got the tool call {others[0][:80]}; you have no"
                         " tools: answer with the JSON object", usage)
    found = [arguments for _, arguments in calls] or [
        bare for text in texts if (bare := _THOUGHT.sub("", text, count=1)).strip()]
    if len(found) > 1:
        return malformed(f"expected one answer, got {len(found)}; send one", usage)
    if found:
        return _Said(found[0], usage)
    return _Said(thoughts, usage, thought=bool(thoughts))


def _counted(usage: Any, taken: str, given: str) -> Usage:
    """Usage as far as a server tells it: many leave out the details, some leave out all of it."""
    read = getattr(usage, f"{taken}_tokens", None)
    cached = getattr(getattr(usage, f"{taken}_tokens_details", None), "cached_tokens", None)
    reasoning = getattr(getattr(usage, f"{given}_tokens_details", None), "reasoning_tokens", None)
    return Usage(input=None if read is None else read - (cached or 0), cache_read=cached,
                 output=getattr(usage, f"{given}_tokens", None), reasoning=reasoning)

