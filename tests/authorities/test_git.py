"""What Git says of a run: agreements bound to content, delivery, drift."""

from pathlib import Path

from controller.authorities import Authorities
from controller.authorities.ci import LocalCI
from controller.authorities.constraints import Constraints
from controller.authorities.criteria import Criteria
from controller.authorities.runtime import Runtime
from controller.core.action import Command
from controller.core.canonical import JsonObject
from controller.core.contract import CommandCheck, Contract, Criterion
from controller.core.head import Head
from controller.core.policy import Policy
from controller.core.projection import as_state
from controller.core.records import Finding
from tests.bench import RUN, Bench
from tests.conftest import Git


def head(bench: Bench, **state: JsonObject) -> Head:
    source = bench.git.observe(Head(RUN, 0, {}, "")).source
    return Head(RUN, 0, {"source_authority": as_state(source, {}), **state}, "")


def test_a_person_agrees_to_content_and_not_to_a_name(bench: Bench) -> None:
    (bench.root / "tests/test_app.py").write_text("agreed to")
    (bench.root / "app.py").write_text("agreed to")
    tree = bench.place.snapshots.take().tree
    agreed = head(bench, confirmations={"c1": {
        "action": "", "answer": "approved", "tree": tree,
        "paths": ["app.py", "tests/test_app.py"]}})

    at_once = bench.git.observe(agreed).agreed
    (bench.root / "tests/test_app.py").write_text("something else")
    later = bench.git.observe(agreed).agreed

    assert at_once == {"app.py", "tests/test_app.py"}
    assert later == {"app.py"}


def test_drift_names_every_changed_file(bench: Bench) -> None:
    before = head(bench)
    (bench.root / "app.py").write_text("changed")
    (bench.root / "new.txt").write_text("added")
    (bench.root / "sub/data.txt").unlink()

    facts = bench.git.observe(before)

    (drift,) = facts.drift
    assert drift.kind == "worktree"
    assert drift.text.splitlines()[1:] == ["  M app.py", "  A new.txt", "  D sub/data.txt"]
    assert bench.git.observe(head(bench)).drift == ()


def test_a_finish_is_only_as_good_as_its_delivery(
        bench: Bench, checkout: Path, git: Git) -> None:
    (bench.root / "new.txt").write_text("new")
    bench.perform({"kind": "commit", "message": "New"})
    finish = bench.effect({"kind": "finish", "result": "done", "summary": "."})
    outcome = bench.hands.perform(finish)

    delivered = bench.git.attest(finish, outcome)
    git(checkout, "update-ref", "refs/heads/oneshot/run-1", "main")
    moved = bench.git.attest(finish, outcome)

    assert [item.finding for item in delivered] == [Finding.VERIFIED] * 2
    assert [(item.subject, item.finding) for item in moved] == [
        ("postcondition:delivered", Finding.FAILING), ("postcondition:changed", Finding.VERIFIED)]
    assert "of the user's repository is at" in moved[0].detail


def test_git_is_asked_after_the_checks_which_take_time_and_could_move_a_branch(
        bench: Bench, checkout: Path) -> None:
    (bench.root / "new.txt").write_text("new")
    bench.perform({"kind": "commit", "message": "New"})
    finish = bench.effect({"kind": "finish", "result": "done", "summary": "."})
    move = Command(("sh", "-c", f"git -C '{checkout}' update-ref refs/heads/oneshot/run-1 main"))
    ci = LocalCI(bench.place.snapshots.repo, bench.place.shell, finish.source.base)
    runtime = Runtime(ci.repo, ci.shell, ci.base, bench.place.clock)
    criteria = Criteria(ci, bench.place.user, Contract("", (Criterion("c", "", CommandCheck(
        move)),)), Policy(), bench.place.clock, runtime)
    constraints = Constraints(ci.repo, (), ci.base, bench.place.clock)

    found = Authorities(bench.git, criteria, runtime, constraints).attest(
        finish, bench.hands.perform(finish))

    assert {item.finding for item in found} == {Finding.FAILING, Finding.VERIFIED}


def test_a_failed_action_has_no_postcondition(bench: Bench) -> None:
    effect = bench.effect({"kind": "commit", "message": "Nothing"})

    assert bench.git.attest(effect, bench.hands.perform(effect)) == ()
