"""`codex exec`: one isolated, ephemeral call of the Codex CLI, with every tool switched off.

Codex validates nothing itself and its instructions are replaced by ours. It calls the Responses API
with a strict schema, so replies come in the ops dialect.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.child import TOOLS, Child, Said, base_environment
from adapters.dialect import answered, malformed, ops_schema
from adapters.status import by_status
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.miss import (
    AuthFailed,
    Broken,
    BudgetStop,
    Declined,
    Limit,
    Miss,
    Overloaded,
    TimedOut,
    Timer,
    TooLarge,
    Truncated,
    Unknown,
    Unreachable,
    Why,
)
from controller.core.ports import Clock
from controller.core.records import Prompt, Reply, Usage

COMPLAINT = b"codex_core::tools::router: error=unsupported call"
"""What it writes on stderr when a model calls a tool: it would go on for ever, without an event. A
budget of its own (`rollout_budget`) would end that as well, but tells the model of it each time.
"""

STDIN = 1_048_576
"""Characters that it takes as a prompt, whatever the model's window is."""

_OFF = ("shell_tool", "multi_agent", "goals", "view_image", "image_generation", "apps", "plugins",
        "hooks", "skill_search", "tool_suggest", "unbounded_connection_retries")

_FLAGS = ("exec", "--ephemeral", "--json", "--ignore-user-config", "--ignore-rules",
          "--skip-git-repo-check", "--sandbox", "read-only", "--color", "never", "--strict-config")

_CONFIG = (
    'model_provider="one"', "project_doc_max_bytes=0", "include_permissions_instructions=false",
    "include_environment_context=false", "skills.bundled.enabled=false",
    "skills.include_instructions=false", "tools.experimental_request_user_input.enabled=false",
    'web_search="disabled"', "analytics.enabled=false", "check_for_update_on_startup=false",
    "suppress_unstable_features_warning=true",
)


@dataclass(frozen=True, slots=True)
class CodexCli:
    """Codex as a model. Without a key it uses the login of the user's own Codex home."""

    child: Child
    model: str | None
    keys: Mapping[str, str]
    home: Path
    path: str
    clock: Clock
    base_url: str | None = None

    @property
    def name(self) -> str:
        return f"codex_cli:{self.model or 'default'}"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        if len(prompt.volatile) > STDIN:
            return Miss(TooLarge(), f"codex takes at most {STDIN} characters")
        schema = self.child.file("schema.json", canonical(ops_schema(prompt.schema)).decode())
        system = self.child.file("system.md", prompt.stable)
        args = [*_FLAGS, "--output-schema", str(schema)]
        args += ["-m", self.model] if self.model else []
        for setting in (self._provider(), *_CONFIG,
                        f"model_instructions_file={json.dumps(str(system))}"):
            args += ["-c", setting]
        for feature in _OFF:
            args += ["--disable", feature]
        said = self.child.call([*args, "-"], self._environment(), prompt.volatile)
        return said.cut() or _answer(said, self.clock)

    def _provider(self) -> str:
        login = 'env_key="OPENAI_API_KEY"' if self._key() else "requires_openai_auth=true"
        url = json.dumps(self.base_url or "https://api.openai.com/v1")
        return (f'model_providers.one={{name="one",base_url={url},{login},wire_api="responses",'
                "request_max_retries=0,stream_max_retries=0,"
                f"stream_idle_timeout_ms={int(self.child.clocks.idle * 1000)}}}")

    def _environment(self) -> dict[str, str]:
        home = self.child.home
        private = home / "codex"
        private.mkdir(exist_ok=True)
        key = self._key()
        login = private / "auth.json"
        if not key and not login.is_symlink():
            login.unlink(missing_ok=True)
            login.symlink_to(self.home / ".codex/auth.json")  # never a copy: it is rewritten
        return {**base_environment(self.path, home), "CODEX_HOME": str(private),
                **({"OPENAI_API_KEY": key} if key else {})}

    def _key(self) -> str | None:
        return self.keys.get("OPENAI_API_KEY")


def _answer(said: Said, clock: Clock) -> Reply | Miss:
    failed, completed = said.of("turn.failed"), said.of("turn.completed")
    if failed or not completed:
        words = _message(failed[-1]) if failed else said.stderr.strip()[-1000:]
        why = _why(words, clock)
        return said.lost() if why == Unknown() and not failed else Miss(
            why, words, billed=_may_be_billed(why, words))
    usage = _usage(completed[-1])
    acted = [kind for kind, _ in _items(said) if kind not in _HARMLESS]
    if acted or COMPLAINT.decode() in said.stderr:
        return malformed(f"{TOOLS} (got {', '.join(acted) or 'a call'})", usage)
    answers = [text for kind, text in _items(said) if kind == "agent_message"]
    if not answers:  # codex drops what a model says when it declines
        return Miss(Declined(), "codex: the turn ended without an answer", billed=True, usage=usage)
    if len(answers) > 1:
        return malformed(f"expected one answer, got {len(answers)}; send one", usage)
    return answered(answers[0], usage, ops=True)


def _may_be_billed(why: Why, words: str) -> bool:
    """Whether a model may have begun to answer."""
    return isinstance(why, Unknown | Declined | Truncated | TimedOut) or (
        isinstance(why, Unreachable) and not _BEFORE.search(words))


_HARMLESS = ("agent_message", "reasoning", "error")  # an "error" item is a notice


def _items(said: Said) -> list[tuple[str, str]]:
    found = []
    for event in said.of("item.completed"):
        item = event.get("item")
        if isinstance(item, dict):
            found.append((str(item.get("type")), str(item.get("text", ""))))
    return found


def _message(event: JsonObject) -> str:
    error = event.get("error")
    return str(error.get("message")) if isinstance(error, dict) else "no words"


def _usage(event: JsonObject) -> Usage:
    """Codex counts cached tokens into the input and names no price; all zero means not told."""
    usage = event.get("usage")
    numbers = {key: value for key, value in (usage if isinstance(usage, dict) else {}).items()
               if isinstance(value, int)}
    if not any(numbers.values()):
        return Usage()
    cached = numbers.get("cached_input_tokens", 0)
    return Usage(
        input=numbers["input_tokens"] - cached if "input_tokens" in numbers else None,
        cache_read=numbers.get("cached_input_tokens"),
        cache_write=numbers.get("cache_write_input_tokens"), output=numbers.get("output_tokens"),
        reasoning=numbers.get("reasoning_output_tokens"))


_MARKS: tuple[tuple[str, Why], ...] = (
    (r"status:? 40[13]|refresh token|log out and sign in|upgrade to Plus|ChatGPT plan, upgrade"
     r"|Missing environment variable|[Nn]ot logged in", AuthFailed()),
    (r"ran out of room|input_too_large|status:? 413|Input exceeds the maximum length"
     r"|context_length_exceeded|maximum context length", TooLarge()),
    (r"idle timeout", TimedOut(Timer.IDLE)),
    (r"at capacity|high demand|status:? 5\d\d|server_is_overloaded|slow_down", Overloaded()),
    (r"invalid_json_schema|does not exist or you do not have access|Error loading config"
     r"|unexpected argument|unknown (?:field|variant|configuration)|model_not_found"
     r"|status:? 40[0245-7]", Broken()),
    (r"flagged|content_filter|cybersecurity", Declined()),
    (r"max_output_tokens", Truncated()),
    (r"stream disconnected|stream closed|status:? 40[89]", Unreachable()),
)
"""What codex says, which has no fields of its own for it."""

_BEFORE = re.compile(r"Connection failed|error sending request|database is locked"
                     r"|sqlite state runtime|dns error")
"""What it says when nobody was asked."""

_USAGE_LIMIT = re.compile(r"usage limit")
_POOR = re.compile(r"Quota exceeded|billing_hard_limit|insufficient_quota")
_THROTTLED = re.compile(r"\b429\b|rate limit exceeded|rate_limit_exceeded", re.IGNORECASE)
_AGAIN_IN = re.compile(r"try again in ([\d.]+) ?(ms|s)\b")
_AGAIN_AT = re.compile(r"try again at (.+?)\.?$")


def _why(words: str, clock: Clock) -> Why:
    if _USAGE_LIMIT.search(words):
        return Limit(_moment(words, clock.now()))
    if passed_on := _passed_on(words):
        return passed_on
    if _BEFORE.search(words):
        return Unreachable()
    if _POOR.search(words):  # before the throttle: it is a 429 as well
        return BudgetStop()
    if _THROTTLED.search(words):
        again = _AGAIN_IN.search(words)
        unit = 1000 if again and again[2] == "ms" else 1
        return Overloaded(float(again[1]) / unit if again else None)
    return next((why for pattern, why in _MARKS if re.search(pattern, words)), Unknown())


def _passed_on(words: str) -> Why | None:
    """The reason of an error of the API's that codex passes on as it came: a 400, always."""
    try:
        body = json.loads(words)
    except ValueError:
        return None
    return by_status(400, str(entries(entries(body).get("error")).get("message")), {}, body)


def _moment(words: str, now: datetime) -> datetime | None:
    """When a plan's limit is over: `6:47 AM` is its next occurrence, since the child's time is UTC.

    >>> _moment("… or try again at 6:47 AM.", datetime(2026, 12, 1, 7, 0, tzinfo=UTC)).isoformat()
    '2026-12-02T06:47:00+00:00'
    >>> _moment("try again at Dec 3rd, 2026 7:00 AM.", datetime(2026, 12, 1, tzinfo=UTC)).day
    3
    """
    found = _AGAIN_AT.search(words)
    written = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", found[1]) if found else ""
    for form in ("%I:%M %p", "%b %d, %Y %I:%M %p"):
        try:
            told = datetime.strptime(written, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        if "%Y" in form:
            return told
        today = now.replace(hour=told.hour, minute=told.minute, second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)
    return None
