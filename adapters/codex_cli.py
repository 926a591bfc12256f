"""`codex exec`: one isolated, ephemeral call of the Codex CLI, with every tool switched off.

Codex validates nothing itself and its instructions are replaced by ours. It calls the Responses API
with a strict schema, so replies come in the ops dialect.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.child import Child, Said, base_environment
from adapters.dialect import from_ops, ops_schema
from controller.core.canonical import JsonObject, canonical
from controller.core.errors import ModelUnavailable, ModelUnusable
from controller.core.records import Prompt, Reply, Usage

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
    "features.rollout_budget={enabled=true,limit_tokens=200000,reminder_at_remaining_tokens=[],"
    "sampling_token_weight=1.0,prefill_token_weight=1.0}",
)


@dataclass(frozen=True, slots=True)
class CodexCli:
    """Codex as a model. Without a key it uses the login of the user's own Codex home."""

    child: Child
    model: str | None
    keys: Mapping[str, str]
    home: Path
    path: str
    base_url: str | None = None
    idle_timeout: float = 180.0

    @property
    def name(self) -> str:
        return f"codex_cli:{self.model or 'default'}"

    def propose(self, prompt: Prompt) -> Reply:
        schema = self.child.file("schema.json", canonical(ops_schema(prompt.schema)).decode())
        system = self.child.file("system.md", prompt.stable)
        args = [*_FLAGS, "--output-schema", str(schema)]
        args += ["-m", self.model] if self.model else []
        for setting in (self._provider(), f"model_instructions_file={json.dumps(str(system))}",
                        *_CONFIG):
            args += ["-c", setting]
        for feature in _OFF:
            args += ["--disable", feature]
        return _reply(self.child.call([*args, "-"], self._environment(), prompt.volatile))

    def _provider(self) -> str:
        login = 'env_key="OPENAI_API_KEY"' if self._key() else "requires_openai_auth=true"
        url = json.dumps(self.base_url or "https://api.openai.com/v1")
        return (f'model_providers.one={{name="one",base_url={url},{login},wire_api="responses",'
                "request_max_retries=0,stream_max_retries=0,"
                f"stream_idle_timeout_ms={int(self.idle_timeout * 1000)}}}")

    def _environment(self) -> dict[str, str]:
        home = self.child.home
        private = home / "codex"
        private.mkdir(exist_ok=True)
        key = self._key()
        login = private / "auth.json"
        if not key and not login.is_symlink():
            login.symlink_to(self.home / ".codex/auth.json")  # never a copy: it is rewritten
        return {**base_environment(self.path, home), "CODEX_HOME": str(private),
                **({"OPENAI_API_KEY": key} if key else {})}

    def _key(self) -> str | None:
        return self.keys.get("OPENAI_API_KEY")


def _reply(said: Said) -> Reply:
    failed = said.of("turn.failed")
    if failed:
        raise _failure(_message(failed[-1]))
    completed = said.of("turn.completed")
    if not completed:
        raise _failure(said.stderr.strip()[-500:] or f"ended with exit {said.result.exit}")
    usage = _usage(completed[-1])
    acted = [kind for kind, _ in _items(said) if kind not in _HARMLESS]
    if acted or "codex_core::tools::router" in said.stderr:
        return Reply(b"", usage, f"expected an answer only, got {', '.join(acted) or 'a tool call'}"
                     "; you have no tools: answer with the JSON object")
    answers = [text for kind, text in _items(said) if kind == "agent_message"]
    if len(answers) != 1:
        return Reply(b"", usage, f"expected one answer, got {len(answers)}; send one")
    return from_ops(answers[0].encode("utf-8", "surrogatepass"), usage)


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


_FOR_A_PERSON = re.compile(
    r"status 40[134]|refresh token|log out and sign in|upgrade to Plus|Quota exceeded"
    r"|invalid_json_schema|does not exist or you do not have access|Missing environment variable"
    r"|status 413|ran out of room|input_too_large|flagged|Error loading config|unexpected argument"
    r"|unknown (?:field|variant|configuration)")


def _failure(words: str) -> ModelUnavailable | ModelUnusable:
    said = f"codex: {words}"
    return ModelUnusable(said) if _FOR_A_PERSON.search(words) else ModelUnavailable(said)
