"""Runs without a terminal: in the background, under a scheduler, until somebody stops them."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.process import supervise
from controller.processes import marked
from controller.testing.model_server import ModelServer
from controller.testing.wire import Answer
from controller.watching import Job
from tests.cli.conftest import START, Shop
from tests.conftest import Git

WRITE: dict[str, object] = {"action": {"kind": "edit", "changes": [
    {"op": "write", "path": "hello.txt", "content": "hello\n"}]}}
COMMIT: dict[str, object] = {"action": {"kind": "commit", "message": "Say hello"}}
FINISH: dict[str, object] = {"action": {
    "kind": "finish", "result": "done", "summary": "It says hello."}}


@pytest.fixture
def unlimited(quick: Shop) -> Shop:
    """A repository whose configuration limits nothing."""
    quick.contract("config.yaml", "model: {adapter: scripted}\n")
    return quick


def slow(shop: Shop, seconds: int) -> Path:
    """Replies of which the first takes a while to do."""
    return shop.replies({"action": {"kind": "run", "shell": f"touch started; sleep {seconds}"}},
                        WRITE, COMMIT, FINISH)


def waited(so: Callable[[], object], seconds: float = 20) -> None:
    """Look until something is so."""
    end = time.monotonic() + seconds
    while not so() and time.monotonic() < end:
        time.sleep(0.05)


def begun(shop: Shop) -> bool:
    return any((shop.repo.parent / "cache/oneshot").glob("*/work/started"))


class Foreground:
    """`oneshot run` in a thread of ours, to be signalled."""

    def __init__(self, shop: Shop, out: Path, *args: str) -> None:
        self.out = out
        self.results: list[int | None] = []
        job = Job([sys.executable, "-P", "-c", START, *args], shop.repo, shop.env, out, timeout=90)
        self.thread = threading.Thread(target=lambda: self.results.append(supervise(job).exit))
        self.thread.start()

    def ended(self) -> tuple[int | None, str]:
        """How it ended, and what it said."""
        self.thread.join()
        return self.results[0], self.out.read_text()


def test_a_run_that_nothing_ends_does_not_begin(unlimited: Shop) -> None:
    cassette = unlimited.replies(WRITE, COMMIT, FINISH)

    refused = unlimited.oneshot("run", "--cassette", str(cassette))
    limited = unlimited.oneshot("run", "--cassette", str(cassette), "--max-time", "2h")
    wanted = unlimited.oneshot("run", "--cassette", str(cassette), "--no-limits")

    assert refused.code == 2
    assert "nothing limits this run; give --max-steps, --max-time, --until" in refused.err
    assert (limited.code, wanted.code) == (0, 0)


@pytest.mark.parametrize(("option", "value", "says"), [
    ("--until", "yesterday", "expected a time like 07:30 or 2026-12-02T07:30+01:00"),
    ("--until", "2020-01-01T00:00+00:00", "2020-01-01T00:00+00:00 is over"),
    ("--max-time", "soon", "expected a time like 90m, 8h or 3600 (seconds)"),
    ("--max-cost", "nan", "expected an amount of US dollars, got 'nan'"),
    ("--ok-exit", "3,99", "expected exit codes of oneshot like 3,8"),
])
def test_a_limit_that_is_none_is_named(quick: Shop, option: str, value: str, says: str) -> None:
    ran = quick.oneshot("run", option, value)

    assert (ran.code, says in ran.err) == (2, True), ran.err


def test_a_run_ends_when_it_is_late(unlimited: Shop) -> None:
    from datetime import UTC, datetime, timedelta

    soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()  # noqa: TID251  (a real clock)
    cassette = unlimited.replies({"action": {"kind": "run", "shell": "sleep 5"}}, WRITE)

    ran = unlimited.oneshot("run", "--cassette", str(cassette), "--until", soon)

    assert ran.code == 3
    assert "when it was to end" in ran.out


def test_exit_codes_that_count_as_success_are_the_scheduler_s_choice(quick: Shop) -> None:
    cassette = quick.replies(WRITE, COMMIT, FINISH)

    ran = quick.oneshot("run", "--cassette", str(cassette), "--steps", "1", "--ok-exit", "3,8")
    again = quick.oneshot("resume", "--max-steps", "2", "--ok-exit", "8")

    assert (ran.code, again.code) == (0, 3)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_lets_the_step_be_finished(
        quick: Shop, tmp_path: Path, number: signal.Signals, code: int) -> None:
    run = Foreground(quick, tmp_path / "out", "run", "--cassette", str(slow(quick, 3)))
    waited(lambda: begun(quick))
    os.kill(quick.holder, number)
    ended, said = run.ended()

    assert ended == code, said
    assert "finishing this step; once more to end now" in said
    status = quick.oneshot("status", "--json").json
    assert (status["phase"], status["step"], status["state_version"]) == ("paused", 1, 1)
    assert quick.oneshot("resume").code == 0


def test_a_second_signal_ends_it_at_once_and_nothing_is_left_running(
        quick: Shop, tmp_path: Path) -> None:
    run = Foreground(quick, tmp_path / "out", "run", "--cassette", str(slow(quick, 60)))
    waited(lambda: begun(quick))
    for _ in range(2):
        os.kill(quick.holder, signal.SIGINT)
        time.sleep(0.3)
    ended, said = run.ended()

    assert ended == 130, said
    assert "interrupted; `oneshot resume` goes on" in said
    assert quick.oneshot("status", "--json").json["phase"] == "interrupted"
    assert marked(str(quick.worktree.parent)) == ()


def test_stop_now_does_not_wait_for_the_step(quick: Shop, tmp_path: Path) -> None:
    run = Foreground(quick, tmp_path / "out", "run", "--cassette", str(slow(quick, 60)))
    waited(lambda: begun(quick))
    quick.oneshot("stop", "--now")
    ended, said = run.ended()

    assert ended == 143, said
    assert marked(str(quick.worktree.parent)) == ()


@pytest.mark.parametrize("how", [("--max-time", "4"), ()], ids=["its time is over", "stop"])
def test_a_wait_of_the_model_s_ends_when_nobody_wants_it_any_more(
        quick: Shop, tmp_path: Path, how: tuple[str, ...]) -> None:
    cassette = quick.replies({"action": {"kind": "wait", "seconds": 3000, "reason": "a nap"}})
    started = time.monotonic()
    run = Foreground(quick, tmp_path / "out", "run", "--cassette", str(cassette), *how)
    if not how:
        waited(lambda: quick.oneshot("status", "--json").json.get("step") == 1)
        quick.oneshot("stop")
    ended, said = run.ended()

    assert ended == 3, said
    assert time.monotonic() - started < 60
    assert "wait" in said


def test_watching_late_invents_no_drift(quick: Shop) -> None:
    edits = [{"action": {"kind": "edit", "changes": [
        {"op": "write", "path": "a.txt", "content": str(number)}]}} for number in range(9)]
    quick.oneshot("run", "--cassette", str(quick.replies(*edits)), "--steps", "9")

    watched = quick.oneshot("watch")

    assert "drift" not in watched.err
    assert "v9 edit" in watched.err


def test_a_spare_that_can_not_be_asked_here_is_told_of_at_once_and_a_wrong_one_by_its_place(
        quick: Shop) -> None:
    cassette = quick.replies(WRITE, COMMIT, FINISH)
    config = (f"model: {{adapter: scripted, cassette: '{cassette}'}}\nlimits: {{steps: 9}}\n"
              "models: {spare: {adapter: %s}}\n")
    quick.contract("config.yaml", config % "claude_cli")
    absent = quick.oneshot("run")
    quick.contract("config.yaml", config % "claude_clx")
    wrong, checked = quick.oneshot("run"), quick.oneshot("validate")
    quick.contract("config.yaml", config.replace("spare", "model") % "scripted")
    twice = quick.oneshot("validate")

    assert absent.code == 0
    assert "note: spare can't be asked here: claude is not on PATH" in absent.err
    assert (wrong.code, checked.code, twice.code) == (2, 2, 2)
    for said in (wrong.err, checked.err):
        assert "config.yaml: /models/spare: no adapter 'claude_clx'; there are: " in said
    assert "/models/model: expected another name" in twice.err


@pytest.fixture
def limited() -> Iterator[ModelServer]:
    """A provider whose usage limit is over in an hour."""
    later = {"anthropic-ratelimit-unified-reset": str(int(time.time()) + 3600)}  # noqa: TID251  (a real clock)
    with ModelServer(lambda _: Answer("limit", status=429, headers=later)) as server:
        yield server


def test_a_wait_is_shown_and_ends_at_the_first_signal(
        quick: Shop, tmp_path: Path, limited: ModelServer) -> None:
    shop = Shop(quick.repo, {**quick.env, "ANTHROPIC_API_KEY": "dummy"})
    run = Foreground(shop, tmp_path / "out", "run", "--adapter", "anthropic_api", "--model",
                     "claude-sonnet-5", "--base-url", limited.url)
    waited(lambda: "usage limit" in (tmp_path / "out").read_text()
           if (tmp_path / "out").exists() else False)
    status = shop.oneshot("status")
    os.kill(shop.holder, signal.SIGTERM)
    ended, said = run.ended()

    assert ended == 143, said
    assert "no reply from model: usage limit until" in said
    assert "waits for a model until" in status.out
    assert len(limited.requests) == 1


def test_a_run_in_the_background_is_watched_and_stopped(quick: Shop) -> None:
    started = time.monotonic()
    ran = quick.oneshot("run", "-qd", "--cassette", str(slow(quick, 4)), "--steps", "4")
    took = time.monotonic() - started
    run = ran.out.strip()
    watched = quick.oneshot("watch", "--exit-status")

    assert ran.code == 0, ran.err
    assert took < 15  # a process of its own, on whatever machine this is; here about 2
    assert f"oneshot watch {run}" in ran.err
    assert watched.code == 0, watched.err
    assert "finished: 1 of 1 criteria are proved" in watched.out
    log = quick.repo / ".agent-runtime/runs" / run / "console.log"
    assert "finished" in log.read_text()


def test_what_can_not_begin_in_the_background_says_so_at_once(quick: Shop) -> None:
    ran = quick.oneshot("run", "-d", "--cassette", "nothing.jsonl")

    absent = quick.oneshot("run", "-d", "--adapter", "claude_cli")

    assert ran.code == 2
    assert "there is no such file" in ran.err
    assert absent.code == 4  # as it is without -d


def test_resume_or_start_begins_goes_on_and_begins_anew(quick: Shop, git: Git) -> None:
    cassette = quick.replies(WRITE, COMMIT, FINISH)
    args = ("resume", "--or-start", "--cassette", str(cassette), "--steps")

    codes = [quick.oneshot(*args, steps).code for steps in ("1", "9", "1")]
    runs = quick.oneshot("status", "--all", "--json").json["runs"]
    (quick.repo / "other.txt").write_text("another base\n")
    git(quick.repo, "add", "-A")
    git(quick.repo, "commit", "-qm", "more")
    anew = quick.oneshot(*args, "1")

    assert codes == [3, 0, 0]  # what is proved is not proved again
    assert len(runs) == 1
    assert anew.code == 3
    assert len(quick.oneshot("status", "--all", "--json").json["runs"]) == 2


def test_a_scheduler_does_not_let_a_stuck_run_go_on(quick: Shop) -> None:
    cassette = quick.replies({"action": {"kind": "finish", "result": "impossible",
                                         "summary": "I can't"}})
    args = ("resume", "--or-start", "--cassette", str(cassette), "--max-steps", "9")

    ran, again = quick.oneshot(*args), quick.oneshot(*args)
    accepted = quick.oneshot(*args, "--ok-exit", "5")

    assert (ran.code, again.code, accepted.code) == (5, 5, 0)
    assert "is stuck: the model gave up" in again.err


def test_a_fault_whose_code_counts_as_success_is_told_and_exits_0(quick: Shop) -> None:
    ran = quick.oneshot("run", "--adapter", "anthropic_api", "--model", "m", "--max-steps", "1",
                        "--ok-exit", "4")

    assert ran.code == 0
    assert "needs a key in the variable ANTHROPIC_API_KEY" in ran.err


def test_a_resume_needs_a_limit_as_a_run_does(unlimited: Shop) -> None:
    cassette = unlimited.replies(WRITE, COMMIT, FINISH)
    unlimited.oneshot("run", "--cassette", str(cassette), "--steps", "1")

    assert unlimited.oneshot("resume").code == 2


def test_only_the_models_of_the_configuration_are_asked(quick: Shop) -> None:
    """One that names its models under `models` alone has no other."""
    quick.contract("config.yaml", f"models: {{mine: {{adapter: scripted, cassette: "
                   f"'{quick.replies(WRITE, COMMIT, FINISH)}'}}}}\nlimits: {{steps: 9}}\n")

    ran = quick.oneshot("run")

    assert ran.code == 0, ran.err
    assert {call["model"] for call in quick.oneshot("cost", "--json").json["calls"]} == {"mine"}


@pytest.mark.parametrize("where", ["systemd", "cron", "github", "gitlab"])
def test_a_form_for_a_scheduler_names_this_repository_and_writes_nothing(
        quick: Shop, where: str) -> None:
    before = sorted(quick.repo.rglob("*"))

    ran = quick.oneshot("install", where)

    assert ran.code == 0
    assert "oneshot run" in ran.out or "resume --or-start" in ran.out
    assert where in ("github", "gitlab") or str(quick.repo) in ran.out
    assert sorted(quick.repo.rglob("*")) == before


def test_systemd_is_told_that_it_is_up_and_alive(quick: Shop, tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "notify"))
        quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, FINISH)),
                      NOTIFY_SOCKET=str(tmp_path / "notify"))
        line.settimeout(5)
        assert line.recv(100) == b"READY=1"


def test_what_a_run_has_cost_is_told_call_by_call(quick: Shop) -> None:
    cassette = quick.repo.parent / "c.jsonl"
    replies: list[dict[str, object]] = [WRITE, COMMIT, FINISH]
    cassette.write_text("".join(json.dumps({
        "reply": {"expected_version": number, "state_patch": {}, **reply},
        "usage": {"input": 3000, "cache_read": 1000, "output": 50, "usd": 0.02}}) + "\n"
        for number, reply in enumerate(replies)))
    quick.oneshot("run", "--cassette", str(cassette))

    told, document = quick.oneshot("cost", "--steps"), quick.oneshot("cost", "--json").json

    assert "3 calls answered, 0 without a reply" in told.out
    assert "9,000 uncached, 3,000 read from a cache, 0 written to one, 150 out" in told.out
    assert "money: $0.0600" in told.out
    assert "estimate, before caching: replaying the history instead would have taken" in told.out
    assert [call["usd"] for call in document["calls"]] == [0.02] * 3
    assert document["replay_estimate_tokens"] > 12_000
    assert document["sent_bytes"] == sum(call["sent_bytes"] for call in document["calls"])


def test_models_are_listed_with_what_they_would_be_reached_by(quick: Shop) -> None:
    told = quick.oneshot("models", ANTHROPIC_API_KEY="dummy")
    document = quick.oneshot("models", "--json").json

    assert "anthropic_api" in told.out
    assert "the key in ANTHROPIC_API_KEY" in told.out
    assert {row["name"]: row["usable"] for row in document["models"]}["scripted"] is None
    assert "dummy" not in told.out + told.err


def test_the_doctor_measures_what_is_sent_and_asks_nobody(quick: Shop) -> None:
    told = quick.oneshot("doctor", "--models")

    assert "anthropic_api sends: " in told.out
    assert "nothing of yours comes with it" in told.out
    cost = quick.repo.parent / "home/.local/state/oneshot/overhead.json"
    assert json.loads(cost.read_text())["openai_api"] > 100


def test_the_doctor_asks_the_configured_models_when_he_is_told_to(
        quick: Shop, tmp_path: Path) -> None:
    answer = '{"expected_version": 0, "state_patch": {}, "action": {"kind": "wait"}}'
    with ModelServer(lambda _: answer) as server:
        quick.contract("config.yaml", f"""
model: {{adapter: openai_api, api: chat, model: local, base_url: "{server.url}/v1", dialect: plain}}
models: {{gone: {{adapter: openai_api, model: m, base_url: "http://127.0.0.1:9/v1"}}}}
limits: {{steps: 5}}
""")
        told = quick.oneshot("doctor", "--call")

    assert "✓ model answers: openai_api: " in told.out
    assert "✗ gone answers: unreachable: " in told.out
