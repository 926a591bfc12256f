"""`pi -p`: one isolated call of the pi coding agent, without tools, context files or extensions.

It knows no schema, so the answer is text. It exits 0 whatever happens: what counts is the last
message of the assistant.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.child import TOOLS, Child, Said, base_environment
from adapters.dialect import answered, malformed
from adapters.status import by_status
from controller.core.canonical import JsonObject, JsonValue, entries, members
from controller.core.miss import (
    AuthFailed,
    Broken,
    Declined,
    Miss,
    Overloaded,
    TooLarge,
    Truncated,
    Unknown,
    Unreachable,
    Why,
)
from controller.core.records import Prompt, Reply, Usage

SPOKEN = b'"type":"message_update"'
"""What stands in its output as soon as a model answers."""

TRIPWIRE = b'"type":"tool_execution_start"'
"""What stands there when a model calls a tool: pi would go on for ever."""

_FLAGS = ("-p", "--no-session", "--mode", "json", "--no-tools", "--no-extensions", "--no-skills",
          "--no-prompt-templates", "--no-themes", "--no-context-files", "--offline",
          "--append-system-prompt", "")

_ARGUMENT = 128 * 1024
"""Bytes that one argument can have; the system prompt is one."""

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Provider of pi's -> the variable of its key."""

_APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses"}


@dataclass(frozen=True, slots=True)
class PiCli:
    """pi as a model. `model` is PROVIDER/NAME; without keys it uses the login of the user's own.

    At a `base_url` of its own the provider is described to pi, with the API `api` if it is given.
    """

    child: Child
    model: str
    keys: Mapping[str, str]
    home: Path
    path: str
    base_url: str | None = None
    api: str | None = None
    max_output_tokens: int = 8192

    @property
    def name(self) -> str:
        return f"pi_cli:{self.model}"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        if len(prompt.stable.encode()) >= _ARGUMENT:
            return Miss(TooLarge(), f"pi takes a system prompt below {_ARGUMENT} bytes")
        provider, _, model = self.model.rpartition("/")
        args = [*_FLAGS, "--provider", provider, "--model", model,
                "--system-prompt", prompt.stable]
        said = self.child.call(args, self._environment(), prompt.volatile)
        return said.cut() or _answer(said)

    def _environment(self) -> dict[str, str]:
        private = self.child.home / "pi"
        private.mkdir(exist_ok=True)
        (private / "settings.json").write_text(json.dumps(self._settings()))
        (private / "models.json").write_text(json.dumps(self._models()))
        login = private / "auth.json"
        if not self.keys and not login.is_symlink():
            login.unlink(missing_ok=True)
            login.symlink_to(self.home / ".pi/agent/auth.json")  # never a copy: it is rewritten
        return {**base_environment(self.path, self.child.home), "PI_OFFLINE": "1",
                "PI_TELEMETRY": "0", "PI_CODING_AGENT_DIR": str(private), **self.keys}

    def _settings(self) -> JsonObject:
        """No retries of its own, no summaries, no news."""
        total = int(self.child.clocks.total * 1000)
        return {"retry": {"enabled": False, "maxRetries": 0, "provider": {
                    "maxRetries": 0, "timeoutMs": total, "maxRetryDelayMs": 1000}},
                "compaction": {"enabled": False}, "enableInstallTelemetry": False,
                "quietStartup": True}

    def _models(self) -> JsonObject:
        if not self.base_url:
            return {"providers": {}}
        provider, _, model = self.model.rpartition("/")
        key = KEYS.get(provider)
        return {"providers": {provider: {
            "baseUrl": self.base_url, "apiKey": key or "none",
            "api": self.api or _APIS.get(provider, "openai-completions"),
            "models": [{"id": model, "maxTokens": self.max_output_tokens}]}}}


def _answer(said: Said) -> Reply | Miss:
    spoken = [entries(event.get("message")) for event in said.of("message_end")]
    messages = [message for message in spoken if message.get("role") == "assistant"]
    if not messages:
        return _silent(said)
    if said.of("tool_execution_start"):
        return malformed(TOOLS, _usage(messages))
    return _last_word(said, messages[-1], _usage(messages))


def _last_word(said: Said, last: JsonObject, usage: Usage) -> Reply | Miss:
    text = "\n".join(str(entries(part).get("text", "")) for part in members(last.get("content"))
                     if entries(part).get("type") == "text")
    stop, total = last.get("stopReason"), entries(last.get("usage")).get("totalTokens")
    if stop == "stop" and (total == 0 or not (usage.output or text)):
        return Miss(Unreachable(), "pi: an answer without a token: the stream was cut", billed=True,
                    usage=usage)
    match stop:
        case "stop":
            return answered(text, usage)
        case "length":
            return Miss(Truncated(), text[:500], billed=True, usage=usage, body=text.encode())
        case "toolUse":
            return malformed(TOOLS, usage)
        case "error":
            words = str(last.get("errorMessage", ""))
            return Miss(_why(words, usage), words, billed=bool(usage.output), usage=usage)
        case _:
            return said.lost(usage)


def _silent(said: Said) -> Miss:
    if re.search(r"[Nn]o API key|[Nn]ot logged in|/login", said.stderr):
        return Miss(AuthFailed(), said.stderr.strip()[-500:])
    if re.search(r"Unknown (?:option|provider)|[Mm]odel .* not found|No models", said.stderr):
        return Miss(Broken(), said.stderr.strip()[-500:])
    return said.lost()


def _usage(messages: list[JsonObject]) -> Usage:
    """Summed over the messages: each has its own. All zero means not told."""
    parts = [entries(message.get("usage")) for message in messages]
    cost = [entries(part.get("cost")).get("total") for part in parts]
    usd = sum(number for number in cost if isinstance(number, int | float))
    sums = {key: sum(number for part in parts if isinstance(number := part.get(key), int))
            for key in ("input", "cacheRead", "cacheWrite", "output")}
    if not any(sums.values()):
        return Usage()
    return Usage(input=sums["input"], cache_read=sums["cacheRead"], cache_write=sums["cacheWrite"],
                 output=sums["output"], usd=usd or None)


_STATUS = re.compile(r"^(\d{3})\b")

_LOST = re.compile(r"[Cc]onnection error|timed out|stream ended|without finish_reason|terminated"
                   r"|ECONN|fetch failed|JSON|SSE")


def _why(words: str, usage: Usage) -> Why:
    """By the HTTP status that the words begin with, as every API; else by what pi says itself."""
    found = _STATUS.match(words)
    if found:
        return by_status(int(found[1]), words, {}, _body(words))
    if _LOST.search(words):
        return Unreachable()
    if "overloaded" in words.lower():
        return Overloaded()
    # Of a refusal of Anthropic's pi says just this, and it was paid for.
    return Declined() if "unknown error" in words and usage.output else Unknown()


def _body(words: str) -> JsonValue:
    """The provider's JSON, which stands after the status."""
    try:
        body: JsonValue = json.loads(words[3:])
    except ValueError:
        return None
    return body
