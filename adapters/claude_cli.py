"""`claude -p`: one isolated, non-persistent call of Claude Code.

Nothing of the user's Claude configuration, memory, hooks, MCP servers or project files reaches the
call. With an API key it runs bare; with a subscription it may not (bare ignores logins).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from adapters.child import Child, Said, base_environment
from adapters.dialect import answered, malformed, merge_schema
from controller.core.canonical import JsonObject, JsonValue, canonical, entries, members
from controller.core.miss import (
    AuthFailed,
    Broken,
    BudgetStop,
    Declined,
    Limit,
    Miss,
    Overloaded,
    TooLarge,
    Truncated,
    Unknown,
    Unreachable,
    Why,
)
from controller.core.records import Prompt, Reply, Usage

SPOKEN = b'"type":"stream_event"'
"""What stands in its output as soon as a model answers."""

STDIN = 10 * 1024 * 1024
"""Bytes that it takes as a prompt."""

_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # ours are journalled
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
}

_FLAGS = (
    "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
    "--no-session-persistence", "--tools", "", "--setting-sources", "", "--strict-mcp-config",
    "--disable-slash-commands", "--max-turns", "1",
)

_TOOL = "StructuredOutput"


@dataclass(frozen=True, slots=True)
class ClaudeCli:
    """Claude Code as a model. `keys` holds the key or token to use, if one is given."""

    child: Child
    model: str | None
    keys: Mapping[str, str]
    home: Path
    path: str
    base_url: str | None = None
    max_output_tokens: int = 8192
    thinking: bool = True

    @property
    def name(self) -> str:
        return f"claude_cli:{self.model or 'default'}"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        if len(prompt.volatile.encode()) > STDIN:
            return Miss(TooLarge(), f"claude takes at most {STDIN} bytes")
        args = [*_FLAGS, "--system-prompt-file", str(self.child.file("system", prompt.stable)),
                "--json-schema", canonical(merge_schema(prompt.schema)).decode()]
        args += ["--model", self.model] if self.model else []
        args += ["--bare"] if self._keyed else []
        said = self.child.call(args, self._environment(), prompt.volatile)
        return said.cut() or self._misused(said) or _answer(said)

    @property
    def _keyed(self) -> bool:
        return "ANTHROPIC_API_KEY" in self.keys

    def _environment(self) -> dict[str, str]:
        home = self.child.home if self.keys else self.home  # a login lives in the user's own home
        env = {**base_environment(self.path, home), **_ENVIRONMENT, **self.keys,
               "API_TIMEOUT_MS": str(int(self.child.clocks.total * 1000)),
               "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(self.max_output_tokens)}
        if not self.thinking:
            env["MAX_THINKING_TOKENS"] = "0"
        if self.base_url:
            env |= {"ANTHROPIC_BASE_URL": self.base_url, "CLAUDE_CODE_ATTRIBUTION_HEADER": "0"}
        return env

    def _misused(self, said: Said) -> Miss | None:
        """What its first event tells that we did not ask for."""
        for event in said.of("system"):
            if event.get("subtype") != "init":
                continue
            version = str(event.get("claude_code_version", ""))
            words, source = "", event.get("apiKeySource")
            if members(event.get("tools")) != [_TOOL]:
                words = f"offers the tools {event.get('tools')} where {_TOOL} alone was asked for"
            elif (source == "ANTHROPIC_API_KEY") != self._keyed:
                words = f"uses the key of {source}, which is not the one that was chosen"
            if words:
                results = said.of("result")
                return Miss(Broken(version), f"claude {version} {words}",
                            billed=bool(_stream(said)),
                            usage=_usage(results[-1]) if results else Usage())
        return None


def _answer(said: Said) -> Reply | Miss:
    results = said.of("result")
    if not results:
        return _no_result(said)
    result, events = results[-1], _stream(said)
    usage = _usage(result)
    answers, tools = _tool_calls(events)
    if not result.get("is_error") or str(result.get("subtype")).startswith("error_max"):
        return _told(said, events, answers, tools, usage)
    words, begun = str(result.get("result") or "no words"), bool(events)
    return Miss(_why(said, result, words), words, billed=begun, usage=usage)


def _told(said: Said, events: list[JsonObject], answers: list[str], tools: list[str],
          usage: Usage) -> Reply | Miss:
    """What the model has said, when it was asked and has ended."""
    body = (answers[0] if answers else _text(said))
    if "max_tokens" in _stops(events):
        return Miss(Truncated(), body[:500], billed=True, usage=usage,
                    body=body.encode("utf-8", "surrogatepass"))
    if tools:
        return malformed(f"expected an answer only, got the tool call {tools[0][:80]}; you have no "
                         "tools: answer with the JSON object", usage)
    if len(answers) > 1:
        return malformed(f"expected one answer, got {len(answers)}; send one", usage)
    if not events:
        return Miss(Broken(), f"claude answered without asking a model: {_text(said)[:200]}")
    return answered(body, usage)


def _stream(said: Said) -> list[JsonObject]:
    """The events of the model's API, in order."""
    return [entries(event.get("event")) for event in said.of("stream_event")]


def _stops(events: list[JsonObject]) -> list[JsonValue]:
    return [entries(event.get("delta")).get("stop_reason") for event in events
            if event.get("type") == "message_delta"]


def _tool_calls(events: list[JsonObject]) -> tuple[list[str], list[str]]:
    """Every structured answer, as the very text that the model wrote, and the names of other tools
    that it called. The parsed object would hide a key that stands twice.
    """
    answers: list[str] = []
    others: list[str] = []
    writing = False
    for event in events:
        match event:
            case {"type": "content_block_start", "content_block": {"type": "tool_use",
                                                                   "name": name}}:
                writing = name == _TOOL
                (answers if writing else others).append("" if writing else str(name))
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta",
                                                           "partial_json": str(part)}} if writing:
                answers[-1] += part
            case {"type": "content_block_stop"}:
                writing = False
            case _:
                continue
    return answers, others


def _text(said: Said) -> str:
    """What the model wrote as prose, when it gave no structured answer."""
    found = []
    for event in said.of("assistant"):
        match event.get("message"):
            case {"model": "<synthetic>"}:
                continue
            case {"content": [*blocks]}:
                found += [block["text"] for block in blocks if isinstance(block, dict)
                          and block.get("type") == "text"]
            case _:
                continue
    return "\n".join(map(str, found))


def _usage(result: JsonObject) -> Usage:
    """From `modelUsage`, which sums every internal call; `usage` may be zero for a billed one."""
    parts = [part for part in entries(result.get("modelUsage")).values() if isinstance(part, dict)]
    if not parts:
        return Usage()
    cost = result.get("total_cost_usd")
    return Usage(
        input=_sum(parts, "inputTokens"), cache_read=_sum(parts, "cacheReadInputTokens"),
        cache_write=_sum(parts, "cacheCreationInputTokens"), output=_sum(parts, "outputTokens"),
        usd=float(cost) if isinstance(cost, int | float) else None)


def _sum(parts: list[dict[str, JsonValue]], key: str) -> int | None:
    numbers = [part[key] for part in parts if isinstance(part.get(key), int)]
    return sum(number for number in numbers if isinstance(number, int)) if numbers else None


def _why(said: Said, result: JsonObject, words: str) -> Why:
    """By status and fields, never by `subtype`, which says "success" of a failure. Words count
    where the program has no field.
    """
    status = result.get("api_error_status")
    if result.get("stop_reason") == "refusal":
        return Declined()
    if limit := _limit(said):
        return limit
    if result.get("terminal_reason") == "prompt_too_long" or status == 413:
        return TooLarge()
    for mark, why in _MARKS:
        if mark in words:
            return why
    if status is None:
        return Unreachable()
    return _by_status(status)


def _by_status(status: JsonValue) -> Why:
    """What an HTTP status means, where its fields and words were not shown."""
    match status:
        case 401 | 403:
            return AuthFailed()
        case 429 | 529 | 503:
            return Overloaded()
        case 400 | 404 | 405 | 422:
            return Broken()
        case int() if status == 408 or status >= 500:
            return Unreachable() if status == 408 else Overloaded()
        case _:
            return Unknown()


_MARKS: tuple[tuple[str, Why], ...] = (
    ("Not logged in", AuthFailed()), ("Invalid API key", AuthFailed()),
    ("Failed to authenticate", AuthFailed()), ("OAuth", AuthFailed()),
    ("Credit balance", BudgetStop()), ("Prompt is too long", TooLarge()),
    ("output token maximum", Truncated()), ("Usage Policy", Declined()),
    ("issue with the selected model", Broken()), ("API Error: Overloaded", Overloaded()))


def _limit(said: Said) -> Limit | None:
    """A plan's limit; a rejection without a moment is a throttle that passes."""
    for event in said.of("rate_limit_event"):
        told = entries(event.get("rate_limit_info"))
        resets = told.get("resetsAt")
        if told.get("status") == "rejected" and isinstance(resets, int | float):
            return Limit(datetime.fromtimestamp(resets, UTC))
    return None


def _no_result(said: Said) -> Miss:
    words = said.stderr.strip()[-500:]
    for mark, why in _COMPLAINTS:
        if mark in words:
            return Miss(why, words)
    return said.lost()


_COMPLAINTS: tuple[tuple[str, Why], ...] = (
    ("unknown option", Broken()), ("not valid JSON", Broken()), ("must be a JSON object", Broken()),
    ("Input must be provided", Broken()), ("requires --verbose", Broken()),
    ("native binary not installed", Broken()), ("exceeds 10MB", TooLarge()))
