"""What becomes of Git commits that somebody else puts on the run's branch."""

from pathlib import Path

import pytest

from controller.core.canonical import JsonObject
from controller.core.head import Head
from controller.core.records import Outcome, Status
from controller.repo import Identity
from controller.testing.clock import MORNING
from tests.bench import RUN, Bench
from tests.conftest import Git

BRANCH = "refs/heads/oneshot/run-1"


@pytest.fixture
def ours(bench: Bench) -> str:
    """The run has made one Git commit, of a changed app.py."""
    (bench.root / "app.py").write_text("def add(a, b):\n    return a + b\n")
    bench.perform({"kind": "commit", "message": "Ours"})
    return str(bench.place.user.ref(BRANCH))


def theirs(bench: Bench, checkout: Path, git: Git, name: str, content: str,
           parent: str = BRANCH) -> str:
    """Somebody puts a Git commit with one changed file on the branch."""
    blob = bench.place.user.git("hash-object", "-w", "--stdin", stdin=content.encode()).decode()
    index = {"GIT_INDEX_FILE": str(checkout / ".git/their.index")}
    bench.place.user.git("read-tree", parent, extra=index)
    bench.place.user.git("update-index", "--add", "--cacheinfo", f"100644,{blob.strip()},{name}",
                         extra=index)
    tree = bench.place.user.git("write-tree", extra=index).decode().strip()
    made = bench.place.user.commit_tree(tree, parent, "Theirs", Identity("Somebody", "s@s"),
                                        MORNING)
    git(checkout, "update-ref", BRANCH, made)
    return made


def observe(bench: Bench) -> str:
    return bench.git.observe(Head(RUN, 0, {}, "")).moved


def adopt(bench: Bench, commit: str) -> Outcome:
    action: JsonObject = {"kind": "adopt", "commit": commit}
    return bench.perform(action)


def test_a_git_commit_of_somebody_else_is_noticed_and_becomes_the_head(
        bench: Bench, ours: str, checkout: Path, git: Git) -> None:
    assert observe(bench) == ""
    made = theirs(bench, checkout, git, "sub/data.txt", "theirs\n")
    assert observe(bench) == made

    outcome = adopt(bench, made)

    assert (outcome.status, outcome.source.head, observe(bench)) == (Status.DONE, made, "")
    assert (bench.root / "sub/data.txt").read_text() == "theirs\n"
    assert "Somebody: Theirs" in outcome.text
    assert "M sub/data.txt" in outcome.text
    bench.place.snapshots.root.joinpath("new.txt").write_text("ours again")
    done = bench.perform({"kind": "commit", "message": "On top"})
    assert done.status is Status.DONE
    assert git(checkout, "log", "--format=%s", BRANCH).split("\n") == [
        "On top", "Theirs", "Ours", "base"]


def test_what_the_worktree_has_beyond_our_git_commit_is_merged_with_it(
        bench: Bench, ours: str, checkout: Path, git: Git) -> None:
    (bench.root / "mine.txt").write_text("not committed")
    made = theirs(bench, checkout, git, "sub/data.txt", "theirs\n")

    outcome = adopt(bench, made)

    assert (bench.root / "mine.txt").read_text() == "not committed"
    assert (bench.root / "sub/data.txt").read_text() == "theirs\n"
    assert outcome.source.dirty


def test_where_both_changed_the_same_lines_both_stand_in_the_file(
        bench: Bench, ours: str, checkout: Path, git: Git) -> None:
    (bench.root / "sub/data.txt").write_text("mine\n")
    made = theirs(bench, checkout, git, "sub/data.txt", "theirs\n")

    outcome = adopt(bench, made)

    merged = (bench.root / "sub/data.txt").read_text()
    assert "mine\n" in merged
    assert "theirs\n" in merged
    assert "both sides changed sub/data.txt" in outcome.text


def test_a_git_commit_that_was_taken_off_leaves_its_change_in_the_worktree(
        bench: Bench, ours: str, checkout: Path, git: Git) -> None:
    base = git(checkout, "rev-parse", "main")
    git(checkout, "update-ref", BRANCH, base)

    outcome = adopt(bench, base)

    assert (outcome.source.head, outcome.source.dirty) == (base, True)
    assert "return a + b" in (bench.root / "app.py").read_text()
    assert bench.place.snapshots.repo.commit(ours) == ours


def test_an_adoption_that_was_cut_short_is_done_again(
        bench: Bench, ours: str, checkout: Path, git: Git) -> None:
    (bench.root / "mine.txt").write_text("not committed")
    made = theirs(bench, checkout, git, "sub/data.txt", "theirs\n")
    effect = bench.effect({"kind": "adopt", "commit": made})
    bench.hands.perform(effect)

    outcome = bench.resume(effect)

    assert (outcome.status, outcome.source.head) == (Status.DONE, made)
    assert (bench.root / "mine.txt").read_text() == "not committed"
    assert (bench.root / "sub/data.txt").read_text() == "theirs\n"


def test_a_git_commit_that_was_amended_away_is_still_ours_after_a_gc(
        bench: Bench, ours: str, checkout: Path, git: Git) -> None:
    made = theirs(bench, checkout, git, "sub/data.txt", "theirs\n")
    adopt(bench, made)
    git(checkout, "update-ref", "-d", BRANCH)
    git(checkout, "reflog", "expire", "--expire=now", "--all")
    git(checkout, "gc", "--prune=now", "--quiet")

    assert bench.place.snapshots.repo.tree_of(made)
