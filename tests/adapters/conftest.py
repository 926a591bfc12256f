"""Every adapter, driving its real client against the loopback server."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.registry import Setup, find
from controller.cli.place import SystemClock
from controller.core.canonical import JsonObject
from controller.core.config import Clocks, ModelConfig
from controller.core.ports import Model
from controller.settings import Settings
from controller.testing.script import Encode, to_ops

PATH = f"{Path(shutil.which('node') or '/usr/bin/node').parent}:/usr/local/bin:/usr/bin:/bin"

PATIENT = Clocks(60, 60, 60)


def plain(transition: JsonObject) -> JsonObject:
    return transition


@dataclass(frozen=True, slots=True)
class Client:
    """One adapter: how it is configured for a server's address, and the dialect it speaks."""

    name: str
    config: Callable[[str], ModelConfig]
    encode: Encode = plain
    keys: tuple[str, ...] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    variable: str = ""  # that names the program which scripts/test has installed

    def build(self, url: str, folder: Path, clocks: Clocks = PATIENT) -> Model:
        """The adapter, with dummy keys, an empty home and the server as its provider."""
        from dataclasses import replace

        settings = Settings(folder / "nobody", folder, folder, PATH, dict.fromkeys(
            self.keys, "dummy"), {"MODEL_URL": url})
        config = replace(self.config(url), binary=binary(self.variable) if self.variable else None,
                         first_timeout=int(clocks.first), idle_timeout=int(clocks.idle),
                         total_timeout=int(clocks.total))
        return find(config.adapter).build(
            Setup(settings, config, folder / "model", folder, SystemClock(), str(folder)))


def binary(variable: str) -> str:
    """The CLI that scripts/test installed."""
    found = os.environ.get(variable)
    if not found:
        if os.environ.get("CI"):
            raise AssertionError(f"{variable} is not set: run the tests by scripts/test")
        pytest.skip(f"LOUD SKIP: {variable} is not set; scripts/test installs the real CLI")
    return found


def _command(url: str) -> ModelConfig:
    program = Path(__file__).with_name("asks.py")
    return ModelConfig("command", command=(sys.executable, str(program)), variables=("MODEL_URL",))


def _openai(url: str, **more: str) -> ModelConfig:
    return ModelConfig("openai_api", "gpt-5.1", f"{url}/v1", **more)  # type: ignore[arg-type]  # texts


CLIENTS = (
    Client("claude_cli key", lambda url: ModelConfig("claude_cli", "claude-sonnet-5", url),
           variable="ONESHOT_TEST_CLAUDE"),
    Client("claude_cli login", lambda url: ModelConfig("claude_cli", "claude-sonnet-5", url),
           keys=("CLAUDE_CODE_OAUTH_TOKEN",), variable="ONESHOT_TEST_CLAUDE"),
    Client("codex_cli", lambda url: ModelConfig("codex_cli", "gpt-5.1", f"{url}/v1"), to_ops,
           variable="ONESHOT_TEST_CODEX"),
    Client("pi_cli", lambda url: ModelConfig("pi_cli", "anthropic/claude-sonnet-5", url),
           variable="ONESHOT_TEST_PI"),
    Client("anthropic_api", lambda url: ModelConfig("anthropic_api", "claude-sonnet-5", url)),
    Client("openai_responses", _openai, to_ops),
    Client("openai_chat", lambda url: _openai(url, api="chat"), to_ops),
    Client("openai_plain", lambda url: _openai(url, api="chat", dialect="plain")),
    Client("command", _command),
)


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name.replace(" ", "_"))
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.param
    return found
