"""What codex and pi print of failures that no server here brings about: programs that print it."""

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.registry import Setup, find
from controller.core.config import ModelConfig
from controller.core.miss import Limit, Miss, Overloaded
from controller.core.prompt import render
from controller.core.records import Prompt, Reply
from controller.settings import Settings
from controller.testing.clock import MORNING, FixedClock
from controller.testing.misbehaviour import TRANSITION
from controller.testing.world import World


def prompt() -> Prompt:
    world = World()
    return render(world.rules, world.open())


def printing(folder: Path, adapter: str, *events: object, stderr: str = "", code: int = 0,
             model: str = "anthropic/m") -> Reply | Miss:
    """What an adapter makes of a program that prints these events, at 8:00 in the morning."""
    program = folder / "program"
    lines = "\n".join(json.dumps(event) for event in events)
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(lines)}\n"
                       f"printf %s {shlex.quote(stderr)} >&2\nexit {code}\n")
    program.chmod(0o755)
    settings = Settings(folder / "home", folder, folder, "/usr/bin:/bin",
                        {"OPENAI_API_KEY": "dummy"})
    return find(adapter).build(Setup(
        settings, ModelConfig(adapter, model, binary=str(program)), folder / "model", folder,
        FixedClock(MORNING))).propose(prompt())


def codex(folder: Path, words: str) -> Miss:
    said = printing(folder, "codex_cli", {"type": "turn.failed", "error": {"message": words}},
                    code=1)
    assert isinstance(said, Miss)
    return said


@pytest.mark.parametrize(("words", "kind", "billed"), [
    ("exceeded retry limit, last status: 429 Too Many Requests", "Overloaded", False),
    ("stream disconnected before completion: Rate limit reached for gpt-5, try again in 11s: "
     "rate_limit_exceeded", "Overloaded", False),
    ("unexpected status 408 Request Timeout", "Unreachable", True),
    ("unexpected status 401 Unauthorized: bad key", "AuthFailed", False),
    ("Your access token could not be refreshed because your refresh token was already used. "
     "Please log out and sign in again.", "AuthFailed", False),
    ("unexpected status 503 Service Unavailable: request flagged as slow", "Overloaded", False),
    ("Selected model is at capacity. Please try a different model.", "Overloaded", False),
    ("Quota exceeded. Check your plan and billing details.", "BudgetStop", False),
    ("Codex ran out of room in the model's context window.", "TooLarge", False),
    ("This content was flagged for possible cybersecurity risk.", "Declined", True),
    ("Connection failed: error sending request", "Unreachable", False),
    ("stream disconnected before completion: stream closed", "Unreachable", True),
    ("unexpected status 404 Not Found", "Broken", False),
    ("failed to initialize sqlite state runtime: database is locked", "Unreachable", False),
    ("something that nobody has ever seen", "Unknown", True),
])
def test_codex_s_words_mean_what_they_mean(tmp_path: Path, words: str, kind: str,
                                           billed: bool) -> None:
    said = codex(tmp_path, words)

    assert (said.kind, said.billed, said.words) == (kind, billed, words)


@pytest.mark.parametrize(("end", "until"), [
    ("try again at 9:47 AM.", datetime(2026, 1, 5, 9, 47, tzinfo=UTC)),
    ("try again at 6:47 AM.", datetime(2026, 1, 6, 6, 47, tzinfo=UTC)),
    ("try again at Jan 9th, 2026 7:00 AM.", datetime(2026, 1, 9, 7, 0, tzinfo=UTC)),
    ("Try again later.", None),
])
def test_the_end_of_a_plan_s_limit_is_the_next_moment_that_it_can_be(
        tmp_path: Path, end: str, until: datetime | None) -> None:
    assert codex(tmp_path, f"You\u2019ve hit your usage limit. {end}").why == Limit(until)


def test_seconds_to_wait_are_read_with_their_unit(tmp_path: Path) -> None:
    assert codex(tmp_path, "429 rate limit exceeded, try again in 1500ms").why == Overloaded(1.5)


def test_what_a_model_writes_about_codex_s_own_words_is_no_tool_call(tmp_path: Path) -> None:
    words = "ERROR codex_core::tools::router: error=unsupported call: shell"
    answer = json.dumps({**TRANSITION, "state_patch": [], "reasoning": words})
    events = ({"type": "item.completed", "item": {"type": "agent_message", "text": answer}},
              {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 1}})

    assert isinstance(printing(tmp_path, "codex_cli", *events), Reply)
    said = printing(tmp_path, "codex_cli", *events, stderr=words)
    assert isinstance(said, Miss)
    assert said.kind == "Malformed"


def test_a_login_that_codex_has_written_anew_is_no_fault(tmp_path: Path) -> None:
    login = tmp_path / "model/home/codex/auth.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    settings = Settings(tmp_path / "home", tmp_path, tmp_path, "/usr/bin:/bin", {})
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 'Not logged in' >&2; exit 1\n")
    program.chmod(0o755)

    said = find("codex_cli").build(Setup(
        settings, ModelConfig("codex_cli", binary=str(program)), tmp_path / "model", tmp_path,
        FixedClock(MORNING))).propose(prompt())

    assert isinstance(said, Miss)
    assert said.kind == "AuthFailed"
    assert login.is_symlink()


@pytest.mark.parametrize(("words", "kind"), [
    ('429 {"error": {"type": "rate_limit_error", "message": "slow"}}', "Overloaded"),
    ("401 permission refused", "AuthFailed"), ("502 upstream: connection refused", "Overloaded"),
    ("504 the upstream took too long", "Overloaded"), ("400 Invalid JSON in request", "Broken"),
    ('400 {"error": {"message": "prompt is too long: 9 > 8"}}', "TooLarge"),
    ("Connection error.", "Unreachable"), ("Request timed out.", "Unreachable"),
    ("stream ended without finish_reason", "Unreachable"), ("what is this", "Unknown"),
])
def test_pi_s_status_counts_before_its_words(tmp_path: Path, words: str, kind: str) -> None:
    said = printing(tmp_path, "pi_cli", {"type": "message_end", "message": {
        "role": "assistant", "content": [], "stopReason": "error", "errorMessage": words}})

    assert isinstance(said, Miss)
    assert (said.kind, said.words) == (kind, words)


def test_an_answer_that_an_interface_says_nothing_of_is_no_answer(tmp_path: Path) -> None:
    """Exit 0 and nothing on the output: claude does so when somebody interrupts it."""
    for adapter in ("claude_cli", "codex_cli", "pi_cli"):
        said = printing(tmp_path, adapter)
        assert isinstance(said, Miss)
        assert said.kind == "Unknown"


def test_a_program_that_is_not_there_is_broken_and_says_what_to_do(tmp_path: Path) -> None:
    settings = Settings(tmp_path, tmp_path, tmp_path, "/usr/bin:/bin", {"OPENAI_API_KEY": "dummy"})

    said = find("codex_cli").build(Setup(
        settings, ModelConfig("codex_cli", binary=str(tmp_path / "gone")), tmp_path / "model",
        tmp_path, FixedClock(MORNING))).propose(prompt())

    assert isinstance(said, Miss)
    assert said.kind == "Broken"
    assert "install it or set model.binary in config.yaml" in said.words
