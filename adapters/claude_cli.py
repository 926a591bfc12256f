"""`claude -p`: one isolated, non-persistent call of Claude Code.

Nothing of the user's Claude configuration, memory, hooks, MCP servers or project files reaches the
call. With an API key it runs bare; with a subscription it may not (bare ignores logins).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.child import Child, Said, base_environment
from adapters.dialect import merge_schema
from controller.core.canonical import JsonObject, JsonValue, canonical
from controller.core.errors import ModelUnavailable, ModelUnusable
from controller.core.records import Prompt, Reply, Usage

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

    @property
    def name(self) -> str:
        return f"claude_cli:{self.model or 'default'}"

    def propose(self, prompt: Prompt) -> Reply:
        args = [*_FLAGS, "--system-prompt-file", str(self.child.file("system", prompt.stable)),
                "--json-schema", canonical(merge_schema(prompt.schema)).decode()]
        args += ["--model", self.model] if self.model else []
        args += ["--bare"] if "ANTHROPIC_API_KEY" in self.keys else []
        return _reply(self.child.call(args, self._environment(), prompt.volatile))

    def _environment(self) -> dict[str, str]:
        held = {key: value for key, value in self.keys.items() if key != "OPENAI_API_KEY"}
        home = self.child.home if held else self.home  # a login lives in the user's own home
        env = {**base_environment(self.path, home), **_ENVIRONMENT, **held,
               "API_TIMEOUT_MS": str(int(self.child.total_timeout * 1000)),
               "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(self.max_output_tokens)}
        if self.base_url:
            env |= {"ANTHROPIC_BASE_URL": self.base_url, "CLAUDE_CODE_ATTRIBUTION_HEADER": "0"}
        return env


def _reply(said: Said) -> Reply:
    results = said.of("result")
    if not results:
        raise _no_result(said)
    result = results[-1]
    subtype = str(result.get("subtype"))
    if result.get("is_error") and not subtype.startswith("error_max"):
        raise _failure(result)
    answers, usage = _answers(said), _usage(result)
    if len(answers) > 1:
        return Reply(b"", usage, f"expected one answer, got {len(answers)}; send one")
    if answers:
        return Reply(answers[0].encode("utf-8", "surrogatepass"), usage)
    return Reply(_text(said).encode("utf-8", "surrogatepass"), usage)


def _answers(said: Said) -> list[str]:
    """Every structured answer, as the very text that the model wrote.

    The parsed object would hide a key that stands twice, so the streamed text is used.
    """
    answers: list[str] = []
    writing = False
    for event in said.of("stream_event"):
        match event.get("event"):
            case {"type": "content_block_start", "content_block": {"type": "tool_use"}}:
                answers.append("")
                writing = True
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta",
                                                           "partial_json": str(part)}} if writing:
                answers[-1] += part
            case {"type": "content_block_stop"}:
                writing = False
            case _:
                continue
    return answers


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
    by_model = result.get("modelUsage")
    parts = [part for part in (by_model.values() if isinstance(by_model, dict) else [])
             if isinstance(part, dict)]
    if not parts:
        return Usage()
    cost = result.get("total_cost_usd")
    return Usage(
        input=_sum(parts, "inputTokens"), cache_read=_sum(parts, "cacheReadInputTokens"),
        cache_write=_sum(parts, "cacheCreationInputTokens"), output=_sum(parts, "outputTokens"),
        usd=float(cost) if isinstance(cost, int | float) else None)


def _sum(parts: list[JsonObject], key: str) -> int | None:
    numbers: list[JsonValue] = [part.get(key) for part in parts]
    return sum(n for n in numbers if isinstance(n, int)) if any(
        isinstance(n, int) for n in numbers) else None


def _failure(result: JsonObject) -> ModelUnavailable | ModelUnusable:
    """By status, never by `subtype`, which says "success" of a failure."""
    status, words = result.get("api_error_status"), str(result.get("result") or "no words")
    said = f"claude: {words}"
    if status in (400, 401, 403, 404, 413) or any(mark in words for mark in _FOR_A_PERSON):
        return ModelUnusable(said)
    return ModelUnavailable(said)


_FOR_A_PERSON = ("Not logged in", "Invalid API key", "Failed to authenticate", "Credit balance",
                 "OAuth", "Usage Policy", "too long")


def _no_result(said: Said) -> ModelUnavailable | ModelUnusable:
    words = said.stderr.strip()[-500:]
    if any(mark in words for mark in ("unknown option", "not valid JSON", "Input must be provided",
                                      "native binary not installed")):
        return ModelUnusable(f"claude: {words}")
    return ModelUnavailable(f"claude ended with exit {said.result.exit} and no result: {words}")
