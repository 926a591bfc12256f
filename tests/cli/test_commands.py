"""What each command says and how it exits, seen from the shell."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from controller.cli.commands import COMMANDS
from controller.core.errors import EXIT_CODES
from controller.process import supervise
from controller.processes import marked
from controller.watching import Job
from tests.cli.conftest import START, Shop
from tests.conftest import Git

WRITE = {"action": {"kind": "edit", "changes": [
    {"op": "write", "path": "hello.txt", "content": "hello\n"}]}}
COMMIT = {"action": {"kind": "commit", "message": "Say hello"}}
FINISH = {"action": {"kind": "finish", "result": "done", "summary": "Said."}}
PROTECTED = {"action": {"kind": "edit", "changes": [
    {"op": "delete", "path": "tests/test_stock.py"}]}}


def test_help_lists_every_command_and_exit_code(shop: Shop) -> None:
    out = shop.oneshot("--help").out

    for name, (_, _, line) in COMMANDS.items():
        assert f"  {name} " in out
        assert line.split(",")[0][:40] in out.replace("\n" + " " * 13, " ")
    for code in EXIT_CODES:
        assert f"\n  {code} " in out
    for name in COMMANDS:
        assert shop.oneshot(name, "-h").code == 0


def test_a_mistyped_command_gets_a_guess(shop: Shop) -> None:
    ran = shop.oneshot("stauts")

    assert (ran.code, ran.out) == (2, "")
    assert "no command 'stauts'; did you mean 'status'?" in ran.err


def test_init_writes_a_contract_that_validates_and_keeps_what_is_there(
        tmp_path: Path, shop: Shop, git: Git) -> None:
    git(shop.repo, "rm", "-q", "-r", ".agent-contract")
    (shop.repo / ".venv/bin").mkdir(parents=True)

    first = shop.oneshot("init", "--goal", 'Say "hello": it\'s 5 o\'clock')
    shop.contract("config.yaml", "model: {adapter: scripted}\n")
    second = shop.oneshot("init", "--goal", "Something else")

    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert "criterion tests: `python3 -m pytest -q` exits 0" in first.out
    assert "wrote .agent-contract/intent-contract.yaml" in first.out
    assert "kept .agent-contract/intent-contract.yaml" in second.out
    assert shop.oneshot("validate").code == 0
    contract = (shop.repo / ".agent-contract/intent-contract.yaml").read_text()
    assert 'goal: "Say \\"hello\\": it\'s 5 o\'clock"' in contract
    assert '[".venv/bin"]' in (shop.repo / ".agent-contract/policy.yaml").read_text()
    assert (shop.repo / ".agent-contract/config.yaml").read_text() == (
        "model: {adapter: scripted}\n")


def test_validate_names_file_line_and_column(shop: Shop) -> None:
    shop.contract("policy.yaml", "protected_path: []\nlimits: {timeout: soon}\n")

    ran, as_json = shop.oneshot("validate"), shop.oneshot("validate", "--json")

    place = shop.repo / ".agent-contract/policy.yaml"
    assert ran.code == 2
    assert f"{place}:1:1: /protected_path: unknown key; did you mean 'protected_paths'?" in ran.err
    assert f"{place}:2:10: /limits/timeout: expected integer, got \"soon\"" in ran.err
    assert as_json.code == 2
    assert [(f["line"], f["column"]) for f in as_json.json["faults"]] == [(1, 1), (2, 10)]
    assert as_json.json["faults"][0]["file"] == str(place)


def test_validate_notices_a_stale_generated_schema(shop: Shop) -> None:
    shop.oneshot("init")
    assert shop.oneshot("validate").code == 0
    shop.contract("transition.schema.json", "{}")

    ran = shop.oneshot("validate")

    assert ran.code == 2
    assert "it is generated: run `oneshot init`" in ran.err


def test_plan_shows_the_verdicts_and_does_nothing(quick: Shop, git: Git) -> None:
    cassette = quick.replies({"action": WRITE["action"], "state_patch": {"recent": []}})

    ran = quick.oneshot("plan", "--cassette", str(cassette))
    as_json = quick.oneshot("plan", "--cassette", str(cassette), "--json")

    assert ran.code == 0
    assert "✗ patch: /state_patch/recent: belongs to the controller" in ran.out
    assert as_json.json["decision"] == "refuse"
    assert git(quick.repo, "branch", "--list", "oneshot/*") == ""
    assert list((quick.repo / ".agent-runtime/runs").glob("*")) == []
    assert quick.oneshot("status").code == 2


def test_a_run_that_is_proved_exits_0_and_says_where_it_is(quick: Shop) -> None:
    ran = quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, FINISH)))

    assert (ran.code, ran.out) == (
        0, "finished: 1 of 1 criteria are proved (3 steps, version 3)\n"), ran.err
    assert "the Git commit is on branch oneshot/say-hello-" in ran.err
    assert quick.oneshot("resume").code == 0


def test_run_json_is_json_lines_and_a_status(quick: Shop) -> None:
    ran = quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, FINISH)), "--json")

    *events, status = map(json.loads, ran.out.splitlines())
    assert [event["kind"] for event in events] == ["created", *["committed"] * 3]
    assert status["phase"] == "finished"
    assert ran.err == ""


@pytest.mark.parametrize(("replies", "args", "code", "says"), [
    ([WRITE], ("--steps", "1"), 3, "paused: it may go on"),
    ([WRITE, COMMIT], ("--max-steps", "2"), 3, "limit: 2 of 2 steps are used"),
    ([WRITE], (), 4, "has 1 replies; step 2 needs another"),
    ([{"action": {"kind": "finish", "result": "impossible", "summary": "No."}}], (), 5,
     "stuck: the model gave up: No."),
    ([PROTECTED], (), 8, "waiting: a person must answer c1: edit tests/test_stock.py"),
    ([{"action": {"kind": "ask", "question": "Which?"}}], (), 8, "waiting: Which?"),
], ids=["paused", "limit", "no-model", "stuck", "approval", "question"])
def test_every_other_end_has_its_exit_code(
        quick: Shop, replies: list[object], args: tuple[str, ...], code: int, says: str) -> None:
    ran = quick.oneshot("run", "--cassette", str(quick.replies(*replies)), *args)

    assert ran.code == code
    assert says in ran.out + ran.err


def test_a_backend_that_is_away_exits_75(quick: Shop) -> None:
    quick.contract("config.yaml", "limits: {steps: 9}\nretry: {outage: 2s}\n")
    ran = quick.oneshot("run", "--adapter", "openai_api", "--model", "m", "--base-url",
                        "http://127.0.0.1:9/v1", OPENAI_API_KEY="dummy")

    assert ran.code == 75
    assert "no reply from model: unreachable (APIConnectionError" in ran.err
    status = quick.oneshot("status", "--json").json
    assert (status["exit_code"], "unreachable" in status["reason"]) == (75, True)
    assert "no model can be asked: for " in quick.oneshot("status").out
    assert "no model has answered (unreachable: " in ran.err
    assert "oneshot resume" in ran.err


def test_an_approved_action_is_done_and_a_denied_one_is_told(quick: Shop, git: Git) -> None:
    cassette = quick.replies(PROTECTED, {**PROTECTED, "expected_version": 0},
                             {**COMMIT, "expected_version": 1})
    quick.oneshot("run", "--cassette", str(cassette))
    status = quick.oneshot("status", "--json").json
    assert [item["id"] for item in status["waiting"]] == ["c1"]

    assert quick.oneshot("deny", "c1", "--reason", "not that one").code == 0
    again = quick.oneshot("resume")
    assert quick.oneshot("approve", "c2").code == 0
    quick.oneshot("resume", "--steps", "1")

    assert again.code == 8
    assert "not that one" in quick.oneshot("show", "2", "--prompt").out
    branch = f"oneshot/{status['run']}"
    assert git(quick.repo, "diff", "--name-status", "main", branch) == "D\ttests/test_stock.py"
    state = json.loads((next((quick.repo / ".agent-runtime/runs").glob("*")) / "state.json")
                       .read_text())["state"]
    assert {id: item["answer"] for id, item in state["confirmations"].items()} == {
        "c1": "declined", "c2": "approved"}


def test_an_answer_is_for_once_and_for_an_open_question(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED)))
    assert quick.oneshot("approve", "c1").code == 0

    for args in (("approve", "c1"), ("deny", "c1"), ("approve", "c9")):
        ran = quick.oneshot(*args)
        assert ran.code == 2
        assert "has no open confirmation" in ran.err


def test_a_person_is_asked_again_when_the_check_of_an_approved_edit_changed_the_file(
        quick: Shop) -> None:
    target = "tests/test_prices.py"
    cassette = quick.replies(
        {"action": {"kind": "edit", "changes": [{"op": "write", "path": target, "content": "1\n"}],
                    "check": {"shell": f"echo cheat > {target}"}}}, COMMIT, FINISH)
    quick.oneshot("run", "--cassette", str(cassette))
    quick.oneshot("approve", "c1")

    ran = quick.oneshot("resume")

    assert ran.code == 8
    assert "a person must answer c2: commit Say hello" in ran.out


def test_an_approval_is_stale_once_the_tree_has_changed(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED)))
    (quick.worktree / "new.txt").write_text("somebody else's")
    quick.oneshot("approve", "c1")

    ran = quick.oneshot("resume", "--steps", "1")

    assert ran.code == 8
    assert "must answer c1 (files have changed, so it is asked again)" in ran.out
    assert quick.oneshot("approve", "c1").code == 0
    assert (quick.worktree / "tests/test_stock.py").exists()
    quick.oneshot("resume", "--steps", "1")
    assert not (quick.worktree / "tests/test_stock.py").exists()


def test_what_is_said_reaches_the_next_prompt(quick: Shop) -> None:
    cassette = quick.replies({"action": {"kind": "ask", "question": "Which?"}}, WRITE)
    quick.oneshot("run", "--cassette", str(cassette))

    assert quick.oneshot("say", "the left one — “ü”").code == 0
    quick.oneshot("resume", "--steps", "1")

    assert "The user says: the left one — “ü”" in quick.oneshot("show", "2", "--prompt").out


def test_show_prints_every_part_of_a_step(quick: Shop) -> None:
    quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": "seq 5000"}, "reasoning": "think",
         "state_patch": {"questions": {"q": "?"}}}, {"action": {"kind": "dance"}})))

    parts = {part: quick.oneshot("show", "1", f"--{part}").out for part in (
        "prompt", "reply", "observation", "patch", "action", "output")}

    assert parts["prompt"].startswith("oneshot step request\n")
    assert json.loads(parts["reply"])["reasoning"] == "think"
    assert json.loads(parts["patch"]) == {"questions": {"q": "?"}}
    assert json.loads(parts["action"])["shell"] == "seq 5000"
    assert "left out; whole: recall" in parts["observation"]
    assert parts["output"] == "".join(f"{n}\n" for n in range(1, 5001))
    assert "expected a kind of action" in quick.oneshot("show", "2", "--gates").out
    assert quick.oneshot("show", "1", "--json").json["kind"] == "committed"
    assert quick.oneshot("show", "9").code == 2


def test_a_model_that_nobody_can_reach_exits_4(shop: Shop) -> None:
    for args, says in (
        (("--adapter", "claude_cli"), "claude is not on PATH; install it"),
        (("--adapter", "openai_api", "--model", "m"), "a key in the variable OPENAI"),
    ):
        ran = shop.oneshot("run", *args, PATH="/usr/bin:/bin")
        assert (ran.code, ran.out) == (4, "")
        assert says in ran.err


def test_a_limit_is_lifted_by_naming_another(quick: Shop) -> None:
    cassette = quick.replies(WRITE, COMMIT, FINISH)
    first = quick.oneshot("run", "--cassette", str(cassette), "--max-steps", "1")

    again, third = quick.oneshot("resume"), quick.oneshot("resume", "--max-steps", "9")

    assert (first.code, again.code, third.code) == (3, 3, 0)
    assert "oneshot resume --max-steps N" in again.err
    assert "resumed" not in again.err


def test_the_commands_it_names_name_the_run_when_it_is_not_the_last(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(PROTECTED)))
    old = quick.oneshot("status", "--json").json["run"]
    second = quick.oneshot("run", "--cassette", str(quick.replies(WRITE)), "--steps", "1")

    assert f"note: run {old} has not ended" in second.err
    said = quick.oneshot("status", old)
    assert f"oneshot approve c1 --run {old}" in said.err
    assert f"oneshot approvals c1 --run {old}" in said.err
    assert quick.oneshot("deny", "c1", "--run", old).code == 0


def test_nobody_hears_what_is_said_to_a_finished_run(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, FINISH)))

    ran = quick.oneshot("say", "well done")

    assert ran.code == 2
    assert "is finished; nobody would hear it" in ran.err


def test_a_question_is_not_approved(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "ask", "question": "Which?"}})))

    ran = quick.oneshot("approve", "q1")

    assert (ran.code, "q1 is to be answered with `oneshot answer`" in ran.err) == (2, True)


def test_a_criterion_that_holds_already_is_pointed_out(quick: Shop) -> None:
    quick.contract("intent-contract.yaml", "goal: Nothing.\nsuccess_criteria:\n"
                   "  there: {check: {file: README.md}}\n")

    ran = quick.oneshot("run", "--cassette", str(quick.replies(WRITE)), "--steps", "1")

    assert "note: every criterion holds already" in ran.err
    assert "verified at the start, so by itself it proves nothing" in quick.oneshot("status").out


def test_the_placeholder_of_init_is_no_goal(shop: Shop, git: Git) -> None:
    git(shop.repo, "rm", "-q", "-r", ".agent-contract")
    shop.oneshot("init")

    ran = shop.oneshot("validate")

    assert ran.code == 2
    assert "intent-contract.yaml:3:1: /goal: expected your own words" in ran.err


def test_file_names_that_are_not_utf_8_stop_nothing(quick: Shop, git: Git) -> None:
    import os

    for name in (b"latin\xff.txt", b"tab\there.txt", b"new\nline.txt"):
        Path(os.fsdecode(os.fsencode(quick.repo) + b"/" + name)).write_text("x")
    git(quick.repo, "add", "-A")
    git(quick.repo, "commit", "-q", "-m", "odd names")

    shown = quick.oneshot("plan", "--prompt")
    ran = quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": "for f in latin*; do echo more >> $f; done"}},
        {"action": {"kind": "search"}}, WRITE, COMMIT, FINISH)))

    assert '  "latin\\udcff.txt"\n' in shown.out
    assert '  "new\\nline.txt"\n' in shown.out
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(("check", "victim"), [
    ("shell: sh check.sh", "check.sh"), ("argv: [sh, ./check.sh]", "check.sh"),
    ("argv: [python, -m, pytest, tests/test_prices.py]", "tests/test_prices.py"),
    ("argv: [python, -m, pytest, checks/]", "checks/test_a.py"),
    ("argv: [python, -m, pytest, checks/]", "pytest.py"),
    ("argv: [python, -m, pytest, checks/]", "pytest/__main__.py"),
], ids=["shell", "argv", "file", "folder", "shadow", "package"])
def test_what_a_check_names_is_protected(
        quick: Shop, git: Git, check: str, victim: str) -> None:
    (quick.repo / "checks").mkdir()
    (quick.repo / "check.sh").write_text("exit 1\n")
    (quick.repo / "checks/test_a.py").write_text("def test_a(): assert 0\n")
    git(quick.repo, "add", "-A")
    git(quick.repo, "commit", "-q", "-m", "checks")
    quick.contract("policy.yaml", f"environment: {{path: [{Path(sys.executable).parent}]}}\n")
    quick.contract("intent-contract.yaml", "goal: Cheat.\nsuccess_criteria:\n"
                   "  check: {check: {" + check.replace("python", sys.executable) + "}}\n")

    ran = quick.oneshot("run", "--cassette", str(quick.replies({"action": {
        "kind": "edit", "changes": [{"op": "write", "path": victim, "content": "exit 0\n"}]}})))

    assert ran.code == 8
    assert f"{victim} is protected: a person must agree first" in ran.err


def test_the_goal_that_init_is_told_too_late_is_not_dropped_in_silence(shop: Shop) -> None:
    ran = shop.oneshot("init", "--goal", "Another one")

    assert "note: .agent-contract/intent-contract.yaml was there and is kept" in ran.err


def test_a_full_disk_for_our_output_is_no_bug(quick: Shop) -> None:
    from controller.process import capture

    said = capture(["sh", "-c", f"{sys.executable} -P -c \"$0\" doctor >/dev/full", START],
                   cwd=quick.repo, env=quick.env)

    assert said.exit == 1
    assert b"bug" not in said.stderr
    assert b"Traceback" not in said.stderr


def test_two_controllers_at_once_exclude_each_other(quick: Shop, tmp_path: Path) -> None:
    cassette = quick.replies({"action": {"kind": "run", "shell": "touch started; sleep 30"}})
    job = Job([sys.executable, "-P", "-c", START, "run", "--cassette", str(cassette)],
              quick.repo, quick.env, tmp_path / "out")
    first = threading.Thread(target=supervise, args=(job,))
    first.start()
    try:
        _wait_for(lambda: quick.worktree / "started")
        holder, second = quick.holder, quick.oneshot("resume")
        status = quick.oneshot("status", "--json").json
    finally:
        os.kill(quick.holder, signal.SIGKILL)
        first.join()

    assert second.code == 10
    assert f"is held by process {holder} on" in second.err
    assert status["phase"] == "running"
    gone = quick.oneshot("status")
    assert "stopped without saying so" in gone.out
    assert "oneshot resume" in gone.err


@pytest.mark.parametrize(("number", "code", "says"), [
    (signal.SIGHUP, 129, "terminated"),
])
def test_a_signal_ends_the_command_too_and_says_how_to_go_on(
        quick: Shop, tmp_path: Path, number: signal.Signals, code: int, says: str) -> None:
    cassette = quick.replies({"action": {
        "kind": "run", "shell": "touch started; sleep 30"}})
    job = Job([sys.executable, "-P", "-c", START, "run", "--cassette", str(cassette)],
              quick.repo, quick.env, tmp_path / "out")
    results = []
    running = threading.Thread(target=lambda: results.append(supervise(job)))
    running.start()
    _wait_for(lambda: quick.worktree / "started")
    os.kill(quick.holder, number)
    running.join()

    assert results[0].exit == code
    assert f"{says}; `oneshot resume` goes on" in (tmp_path / "out").read_text()
    assert quick.oneshot("status", "--json").json["phase"] == "interrupted"
    assert marked(str(quick.worktree.parent)) == ()


def test_a_worktree_that_was_deleted_is_built_again(quick: Shop) -> None:
    import shutil

    cassette = quick.replies(WRITE, COMMIT, FINISH)
    quick.oneshot("run", "--cassette", str(cassette), "--steps", "1")
    shutil.rmtree(quick.worktree)

    ran = quick.oneshot("resume")

    assert ran.code == 0
    assert "drift" not in ran.err


def test_a_checkout_can_be_moved_between_steps(quick: Shop) -> None:
    from dataclasses import replace

    cassette = quick.replies(WRITE, COMMIT, FINISH)
    quick.oneshot("run", "--cassette", str(cassette), "--steps", "1")
    moved = replace(quick, repo=quick.repo.rename(quick.repo.with_name("moved")))

    ran = moved.oneshot("resume")

    assert ran.code == 0, ran.err


@pytest.mark.parametrize("lost", ["all", "branch"])
def test_our_repository_is_made_again_from_what_was_delivered(quick: Shop, lost: str) -> None:
    import shutil

    more = {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": "more.txt", "content": "x"}]}}
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, more, COMMIT, FINISH)),
                  "--steps", "2")
    (repo,) = (quick.repo / ".agent-runtime/runs").glob("*/repo.git")
    shutil.rmtree(repo if lost == "all" else repo / "refs/heads/oneshot")

    ran = quick.oneshot("resume", "--steps", "9")

    assert ran.code == 0, ran.err


def test_a_new_file_that_a_check_names_is_welcome(quick: Shop) -> None:
    quick.contract("intent-contract.yaml", "goal: Say hello.\nsuccess_criteria:\n"
                   "  hello: {check: {shell: grep -q hello hello.txt}}\n")

    ran = quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT, FINISH)))

    assert ran.code == 0, ran.err


def test_a_repository_that_git_init_left_in_the_worktree_stops_nothing(quick: Shop) -> None:
    ran = quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": "git init -q nested"}}, WRITE, COMMIT,
        {"action": {"kind": "run", "shell": "rm -r nested"}}, COMMIT, FINISH)))

    assert ran.code == 0, ran.err
    assert "failed: nested: a Git repository of its own" in ran.err


def test_a_branch_in_the_place_of_ours_is_named_before_anything_is_done(
        quick: Shop, git: Git) -> None:
    git(quick.repo, "branch", "oneshot")

    ran = quick.oneshot("run", "--cassette", str(quick.replies(WRITE)))

    assert ran.code == 2
    assert "the repository has a branch `oneshot`" in ran.err


def test_what_is_written_to_a_closed_output_lands_in_no_file_of_ours(quick: Shop) -> None:
    from controller.process import capture

    cassette = quick.replies(WRITE, COMMIT, FINISH)
    run = f"{sys.executable} -P -c \"$0\" run --cassette {cassette} <&- >&- 2>&-"
    said = capture(["sh", "-c", run, START], cwd=quick.repo, env=quick.env)

    assert said.exit == 0
    assert quick.oneshot("status").code == 0


def test_a_run_whose_criteria_held_before_it_proves_nothing_new(quick: Shop, git: Git) -> None:
    (quick.repo / "hello.txt").write_text("hello\n")
    git(quick.repo, "add", "-A")
    git(quick.repo, "commit", "-q", "-m", "done already")

    ran = quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "edit", "changes": [
            {"op": "write", "path": "other.txt", "content": "x"}]}}, COMMIT, FINISH)))

    assert ran.code == 0
    assert "every criterion held before any change, so this proves nothing new" in ran.err


@pytest.mark.parametrize(("name", "text", "says"), [
    ("intent-contract.yaml", "goal: G.\nsuccess_criteria:\n  a: {check: {file: ../x}}\n",
     "/success_criteria/a/check/file: '../x'"),
    ("intent-contract.yaml", "goal: G.\nsuccess_criteria:\n  a: {check: {file: .git/HEAD}}\n",
     "/success_criteria/a/check/file: '.git/HEAD'"),
    ("config.yaml", "skill: .agent-contract\n", "the skill spec is no file"),
    ("config.yaml", "skill: ZERO\n", "the skill spec is no file"),
], ids=["outside", "git", "folder", "endless"])
def test_a_contract_that_nothing_could_fulfil_does_not_validate(
        quick: Shop, name: str, text: str, says: str) -> None:
    quick.contract(name, text.replace("ZERO", os.path.relpath("/dev/zero", quick.repo)))

    ran = quick.oneshot("validate")

    assert ran.code == 2
    assert says in ran.err


def test_a_home_folder_of_nobody_is_a_folder_like_any_other(quick: Shop) -> None:
    quick.contract("policy.yaml", "environment: {path: ['~nobody-here/bin', ~/bin]}\n")

    assert quick.oneshot("validate").code == 0


def test_file_names_in_another_encoding_are_named_before_anything_is_done(quick: Shop) -> None:
    ran = quick.oneshot("status", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    assert ran.code == 2
    assert "set PYTHONUTF8=1" in ran.err


def test_doctor_says_what_is_there_and_asks_no_model(quick: Shop) -> None:
    ran = quick.oneshot("doctor")
    as_json = quick.oneshot("doctor", "--json", ANTHROPIC_API_KEY="dummy").json

    assert ran.code == 1
    assert "✗ model: none can be reached; install claude, codex or pi and log in" in ran.out
    assert as_json["overall"] == "ok"
    assert as_json["checks"]["keys"] == {
        "status": "ok", "summary": "ANTHROPIC_API_KEY",
        "remediation": "a CLI with a login needs none"}


@pytest.mark.parametrize(("args", "says"), [
    (("run",), "the scripted adapter needs --cassette FILE"),
    (("status",), "there is no run in this repository yet; `oneshot run` starts one"),
    (("resume", "nobody"), "there is no run in this repository yet"),
    (("-C", "/", "status"), "/ is in no Git checkout"),
    (("run", "--adapter", "anthropic_api"), "needs --model NAME"),
    (("run", "--cassette", "none.jsonl"), "none.jsonl: the cassette can't be read"),
    (("run", "--cassette", "/dev/zero"), "/dev/zero: the cassette can't be read"),
    (("say", " "), "expected a text to say, got an empty one"),
    (("say", "bad \udcff byte"), "expected UTF-8 on the command line"),
    (("run", "--steps", "0"), "Invalid value for '--steps'"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_a_mistake_is_one_sentence_and_exit_2(shop: Shop, args: tuple[str, ...], says: str) -> None:
    ran = shop.oneshot(*args, PATH="/usr/bin:/bin")

    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_repository_without_a_commit_has_nothing_to_start_from(
        tmp_path: Path, quick: Shop, git: Git) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    (empty / ".agent-contract").mkdir()
    for file in (quick.repo / ".agent-contract").iterdir():
        (empty / ".agent-contract" / file.name).write_text(file.read_text())

    ran = quick.oneshot("-C", str(empty), "run", "--cassette", str(quick.replies(WRITE)))

    assert ran.code == 2
    assert "the repository has no Git commit to start from" in ran.err


def test_output_is_plain_where_the_terminal_is(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE)), "--steps", "1")

    plain = quick.oneshot("status", LC_ALL="C", PYTHONIOENCODING="ascii")

    assert plain.code == 0
    assert "x  hello  failing" in plain.out
    assert "\x1b" not in plain.out + plain.err


def test_a_package_that_shadows_ours_is_refused(quick: Shop) -> None:
    (quick.repo / "adapters").mkdir()
    (quick.repo / "adapters/__init__.py").write_text("")

    ran = quick.oneshot("doctor", PYTHONPATH=str(quick.repo))

    assert ran.code == 2
    assert "is not oneshot's `adapters`: another package shadows it" in ran.err


def _wait_for(place: object) -> None:
    import time

    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if place().exists():  # type: ignore[operator]  # a function that names a path
                return
        except ValueError:
            pass  # there is no worktree yet
        threading.Event().wait(0.05)
    raise AssertionError("it never happened")
