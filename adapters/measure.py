"""What a model interface really sends: it is pointed at a server on loopback that answers nothing.

No key and no login of the user's comes near it: it has an empty home and dummy keys. Instruction
files and hooks lie in its way, with a canary in them.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from adapters.dialect import grammar_schema, merge_schema, ops_schema
from adapters.registry import Adapter, Setup
from controller.core.canonical import JsonObject, JsonValue
from controller.core.head import RunId
from controller.core.miss import Miss
from controller.core.records import Prompt

CANARY = "oneshot-canary-5f1d"
"""What stands in every file that must not reach a request."""

TINY: JsonObject = {
    "type": "object", "additionalProperties": False,
    "required": ["expected_version", "state_patch", "action"],
    "properties": {"expected_version": {"type": "integer"}, "state_patch": {"type": "object"},
                   "action": {"type": "object", "additionalProperties": False, "required": ["kind"],
                              "properties": {"kind": {"type": "string"}}}}}
"""A schema as small as one can be; what a run's own adds to it is ours."""

_ASKED = ("/messages", "/responses", "/chat/completions")

_DUMMY = "dummy-key-of-a-measurement"


@dataclass(frozen=True, slots=True)
class Measure:
    """What was seen. `added`: bytes of the request beside our prompt and the answer's schema; None:
    there was no request. `leaks`: what of the user's came with it, or was executed.
    """

    added: int | None
    requests: int
    leaks: tuple[str, ...]
    words: str = ""


def measure(adapter: Adapter, setup: Setup, *, login: bool = False) -> Measure:
    """Send one tiny prompt through an adapter, to nobody. `login`: as with a login instead of a
    key. What it makes lies in the folder of `setup`, which is to be empty.
    """
    prompt = Prompt(RunId("measure"), 0, 0, "", "P", " + S", " + O", TINY)
    executed = setup.folder / "EXECUTED"
    _plant(setup.folder, executed)
    with _nobody() as (url, bodies):
        model = adapter.build(_pointed(setup, url, login=login))
        said = model.propose(prompt)
    leaks = [f"{executed.read_text().strip()} was executed"] if executed.exists() else []
    leaks += ["an instruction file came with the request" for body in bodies[:1]
              if CANARY.encode() in body]
    added = _beside(bodies[0], prompt) if bodies else None
    return Measure(added, len(bodies), tuple(leaks), said.words if isinstance(said, Miss) else "")


def _beside(body: bytes, prompt: Prompt) -> int:
    """Bytes of a request that are neither the prompt nor the schema, in whichever dialect."""
    compiled = [made(prompt.schema) for made in (ops_schema, merge_schema, grammar_schema)]
    found = next((part for part in _parts(json.loads(body)) if part in compiled), None)
    schema = len(json.dumps(found, separators=(",", ":"))) if found else 0
    return len(body) - len(prompt.text.encode()) - schema


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    """Every object in a value."""
    below: Iterable[JsonValue] = ()
    match value:
        case dict():
            yield value
            below = value.values()
        case list():
            below = value
        case _:
            pass
    for part in below:
        yield from _parts(part)


def tiny() -> Prompt:
    """A prompt that any model can answer."""
    return Prompt(RunId("tiny"), 0, 0, "", "You answer with JSON.\n", "",
                  'Answer with {"expected_version": 0, "state_patch": {}, "action": '
                  '{"kind": "wait"}}.\n', TINY)


def _pointed(setup: Setup, url: str, *, login: bool) -> Setup:
    """The setup with another server, another home, and keys that are none."""
    config, names = setup.config, ("CLAUDE_CODE_OAUTH_TOKEN",) if login else (
        "ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    anthropic = config.adapter in ("claude_cli", "anthropic_api") or (
        config.adapter == "pi_cli" and (config.model or "").startswith("anthropic/"))
    return replace(
        setup, config=replace(config, base_url=url if anthropic else f"{url}/v1", key=None),
        settings=replace(setup.settings, home=setup.folder / "home",
                         keys=dict.fromkeys(names, _DUMMY)))


def _plant(folder: Path, executed: Path) -> None:
    """Put what must not be found wherever an agent CLI might look for it."""
    hook = {"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": f"echo a hook > {executed}; echo {CANARY}"}]}]}}
    for place in ("", "empty", "home", "home/.claude", "home/.codex", "home/.pi/agent",
                  "empty/.claude", "empty/.codex", "empty/.pi"):
        (folder / place).mkdir(parents=True, exist_ok=True)
        for name in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md",
                     "APPEND_SYSTEM.md", "SYSTEM.md"):
            (folder / place / name).write_text(CANARY)
        (folder / place / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": {
            "command": "sh", "args": ["-c", f"echo an MCP server > {executed}"]}}}))
        (folder / place / "settings.json").write_text(json.dumps(hook))


@contextmanager
def _nobody() -> Iterator[tuple[str, list[bytes]]]:
    """A server on loopback that keeps what it is sent and takes none of it."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server.bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.partition("?")[0].endswith(_ASKED):
            self.server.bodies.append(body)
        said = b'{"error": {"type": "invalid_request_error", "message": "a measurement"}}'
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        pass
