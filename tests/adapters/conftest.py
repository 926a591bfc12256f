"""Every adapter, driving its real client against the loopback server."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.anthropic_api import AnthropicApi
from adapters.child import Child
from adapters.claude_cli import ClaudeCli
from adapters.codex_cli import CodexCli
from adapters.openai_api import OpenAiApi
from controller.core.canonical import JsonObject
from controller.core.ports import Model
from controller.testing.script import Encode, to_ops

TIMEOUT = 60.0
PATH = "/usr/local/bin:/usr/bin:/bin"


def plain(transition: JsonObject) -> JsonObject:
    return transition


@dataclass(frozen=True, slots=True)
class Client:
    """One adapter: how it is built for a server's address, and the dialect it speaks."""

    name: str
    build: Callable[[str, Path, float], Model]
    encode: Encode = plain


def binary(variable: str) -> str:
    """The CLI that scripts/test installed."""
    found = os.environ.get(variable)
    if not found:
        if os.environ.get("CI"):
            raise AssertionError(f"{variable} is not set: run the tests by scripts/test")
        pytest.skip(f"LOUD SKIP: {variable} is not set; scripts/test installs the real CLI")
    return found


def claude(url: str, folder: Path, timeout: float = TIMEOUT) -> Model:
    child = Child(binary("ONESHOT_TEST_CLAUDE"), folder, timeout, None)
    return ClaudeCli(child, "claude-sonnet-5", {"ANTHROPIC_API_KEY": "dummy"},
                     folder / "nobody", PATH, url)


def codex(url: str, folder: Path, timeout: float = TIMEOUT) -> Model:
    child = Child(binary("ONESHOT_TEST_CODEX"), folder, timeout, None)
    return CodexCli(child, "gpt-5.1", {"OPENAI_API_KEY": "dummy"}, folder / "nobody", PATH,
                    url + "/v1", 60)


def anthropic(url: str, _folder: Path, timeout: float = TIMEOUT) -> Model:
    return AnthropicApi("claude-sonnet-5", "dummy", url, total_timeout=timeout)


def responses(url: str, _folder: Path, timeout: float = TIMEOUT) -> Model:
    return OpenAiApi("gpt-5.1", "dummy", url + "/v1", total_timeout=timeout)


def chat(url: str, _folder: Path, timeout: float = TIMEOUT) -> Model:
    return OpenAiApi("gpt-5.1", "dummy", url + "/v1", api="chat", total_timeout=timeout)


def chat_plain(url: str, _folder: Path, timeout: float = TIMEOUT) -> Model:
    return OpenAiApi("local", "dummy", url + "/v1", api="chat", strict=False,
                     total_timeout=timeout)


CLIENTS = (
    Client("claude_cli", claude), Client("codex_cli", codex, to_ops),
    Client("anthropic_api", anthropic), Client("openai_responses", responses, to_ops),
    Client("openai_chat", chat, to_ops), Client("openai_chat_plain", chat_plain),
)


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.param
    return found
