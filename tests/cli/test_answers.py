"""Questions and answers from the shell: what is shown, who may answer, what goes on meanwhile."""

import json
import stat
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.process import supervise
from controller.watching import Job
from tests.cli.conftest import START, Shop
from tests.cli.test_commands import COMMIT, FINISH, PROTECTED, WRITE
from tests.conftest import Git


def test_what_waits_is_shown_with_the_exact_difference_and_what_hides_in_it(quick: Shop) -> None:
    risky = {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": "tests/test_prices.py", "content": "assert True  # \u202e x\n"}]}}
    quick.oneshot("run", "--cassette", str(quick.replies(risky)))

    listed = quick.oneshot("approvals")
    shown = quick.oneshot("approvals", "c1")
    told = quick.oneshot("approvals", "c1", "--json").json

    assert "c1  action  open" in listed.out
    assert "oneshot approvals c1" in listed.err
    assert "+assert True" in shown.out
    assert "\u202e" not in shown.out
    assert "\\u202e" in shown.out or "U+202E" in shown.out
    assert "  | /action: tests/test_prices.py is protected" in shown.out
    assert "to undo it: `oneshot rollback" in shown.out
    assert told["action"]["kind"] == "edit"
    assert told["difference"].startswith(" tests/test_prices.py")
    assert quick.oneshot("approvals", "c9").code == 2


def test_a_question_is_answered_in_words(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "ask", "question": "Which?"}}, WRITE, COMMIT, FINISH)))

    answered = quick.oneshot("answer", "q1", "the left one")
    done = quick.oneshot("resume")

    assert answered.code == 0
    assert done.code == 0
    assert "In answer to your question (Which?): the left one" in (
        quick.oneshot("show", "2", "--prompt").out)
    assert quick.oneshot("answer", "q1", "again").code == 2


def test_the_signing_key_is_the_users_alone(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED)))
    key = Path(quick.env["HOME"]) / ".local/state/oneshot/key"

    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    key.chmod(0o644)
    refused = quick.oneshot("approve", "c1")
    assert refused.code == 2
    assert "can be read by others: chmod 600 it" in refused.err


def test_the_key_does_not_lie_in_the_repository(quick: Shop) -> None:
    ran = quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED)),
                        XDG_STATE_HOME=str(quick.repo / "state"))

    assert ran.code == 2
    assert "the signing key must not lie in the repository" in ran.err


def test_an_answer_with_another_users_key_counts_for_nothing(quick: Shop, tmp_path: Path) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED)))

    quick.oneshot("approve", "c1", XDG_STATE_HOME=str(tmp_path / "mallory"))
    ran = quick.oneshot("resume")

    assert ran.code == 8
    assert "c1 again (it is not signed with your key)" in ran.out
    assert (quick.worktree / "tests/test_stock.py").exists()


def test_other_work_goes_on_while_something_waits(quick: Shop, git: Git) -> None:
    cassette = quick.replies(PROTECTED, {**WRITE, "expected_version": 0},
                             {**COMMIT, "expected_version": 1}, {**FINISH, "expected_version": 2})

    ran = quick.oneshot("run", "--cassette", str(cassette), "--on-approval", "continue")

    assert ran.code == 0, ran.err
    run = quick.oneshot("status", "--json").json["run"]
    assert git(quick.repo, "diff", "--name-status", "main", f"oneshot/{run}") == "A\thello.txt"


APPROVES = """\
import json, sys
told = json.load(sys.stdin)
open(sys.argv[1], "a").write(told["title"] + "\\n")
for item in told["questions"]:
    print("approve", item["id"], item["token"])
"""


def test_a_run_that_waits_is_answered_by_a_command_of_the_users(
        quick: Shop, tmp_path: Path) -> None:
    script, told = tmp_path / "tell.py", tmp_path / "told"
    script.write_text(APPROVES)
    quick.contract("config.yaml", json.dumps({
        "model": {"adapter": "scripted"}, "limits": {"steps": 100},
        "approvals": {"mode": "wait", "wait": "1m"},
        "notify": {"command": [sys.executable, str(script), str(told)]}}))

    ran = quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED, WRITE, COMMIT, FINISH)))

    assert ran.code == 0, ran.err
    assert told.read_text().splitlines() == [
        "needs you: c1", "done: 1 of 1 criteria are proved"]
    assert "approved" in quick.oneshot("log").out


def slow(shop: Shop, tmp_path: Path, *replies: Any) -> tuple[threading.Thread, list[Any]]:
    """A run at work in a process of its own."""
    job = Job([sys.executable, "-P", "-c", START, "run", "--cassette", str(shop.replies(*replies))],
              shop.repo, shop.env, tmp_path / "out")
    results: list[Any] = []
    running = threading.Thread(target=lambda: results.append(supervise(job)))
    running.start()
    return running, results


def until(found: Callable[[], bool]) -> None:
    for _ in range(1500):
        if found():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not come about in half a minute")


SLOW = {"action": {"kind": "run", "shell": "touch started; while [ ! -e go ]; do sleep 0.05; done"}}


def started(shop: Shop) -> bool:
    return any((shop.repo.parent / "cache/oneshot").glob("*/work/started"))


def test_a_run_is_stopped_between_two_steps_and_goes_on_later(quick: Shop, tmp_path: Path) -> None:
    running, results = slow(quick, tmp_path, SLOW, WRITE, COMMIT, FINISH)
    until(lambda: started(quick))

    asked = quick.oneshot("stop")
    (quick.worktree / "go").touch()
    running.join()
    done = quick.oneshot("resume", "--steps", "1")

    assert "ends after this step" in asked.err
    assert results[0].exit == 3
    assert quick.oneshot("status", "--json").json["step"] == 2
    assert done.code == 3


def test_a_paused_run_stands_still_until_it_is_resumed(quick: Shop, tmp_path: Path) -> None:
    running, results = slow(quick, tmp_path, SLOW, WRITE, COMMIT, FINISH)
    until(lambda: started(quick))

    quick.oneshot("pause")
    (quick.worktree / "go").touch()
    until(lambda: quick.oneshot("status", "--json").json["step"] == 1)
    until(lambda: quick.oneshot("status", "--json").json["phase"] == "paused by you")
    resumed = quick.oneshot("resume")
    running.join()

    assert "goes on in the process that was paused" in resumed.err
    assert results[0].exit == 0
    assert quick.oneshot("status", "--json").json["step"] == 4


@pytest.mark.parametrize("name", ["pause", "stop"])
def test_there_is_nothing_to_stop_where_nobody_is_at_work(quick: Shop, name: str) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE)), "--steps", "1")

    ran = quick.oneshot(name)

    assert ran.code == 2
    assert "nobody is at work on run" in ran.err


def test_a_run_that_was_moved_keeps_its_contract_and_whoever_takes_it_signs_it(
        quick: Shop, tmp_path: Path, git: Git) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, FINISH)), "--steps", "1")
    quick.oneshot("intent", "add", "requirement", "No floats")
    bundle = tmp_path / "run.bundle"
    quick.oneshot("export", str(bundle))
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(quick.repo), str(other))
    home = tmp_path / "home2"
    home.mkdir()
    there = replace(quick, repo=other, env={
        **quick.env, "HOME": str(home), "XDG_CACHE_HOME": str(tmp_path / "cache2")})

    there.oneshot("import", str(bundle))
    shown = there.oneshot("intent", "show")
    log = there.oneshot("intent", "log")

    assert "requirement-1: No floats" in shown.out
    assert "add locked_requirements" in log.out
    resumed = there.oneshot("resume", "--steps", "1")
    assert resumed.code == 3, resumed.err
    assert "go on under version 2 of the contract" in resumed.err
