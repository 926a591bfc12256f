"""Criteria are checked by us, in a clean export, with protected files as the base has them."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.authorities.ci import LocalCI
from controller.checkout import create, open_checkout
from controller.commands import Shell
from controller.core.action import Command
from controller.core.contract import Check, CommandCheck, Contract, Criterion, FileCheck
from controller.core.policy import Environment, Policy
from controller.core.records import Evidence, Finding
from controller.repo import Identity, Repo
from controller.sandbox.toolchain import toolchain
from controller.testing.clock import MORNING, FixedClock
from tests.bench import BUBBLEWRAP

OURS = toolchain([Path(sys.executable).parent], (), None)
PYTEST = CommandCheck(Command((sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")))
Committed = Callable[[dict[str, str | None]], str]


@pytest.fixture
def repo(checkout: Path, tmp_path: Path) -> Repo:
    (tmp_path / "work").mkdir()
    create(tmp_path / "repo.git", open_checkout(checkout))
    return Repo(tmp_path / "repo.git", tmp_path / "work", tmp_path / "repo.git/w.index")


@pytest.fixture
def base(checkout: Path) -> str:
    return open_checkout(checkout).commit("HEAD")


@pytest.fixture
def committed(repo: Repo, base: str) -> Committed:
    """Make a Git commit of the base with some files changed; None removes one."""
    def commit(files: dict[str, str | None]) -> str:
        assert repo.work_tree
        repo.git("read-tree", "--reset", "-u", base)
        for path, text in files.items():
            place = repo.work_tree / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink() if text is None else place.write_text(text)
        repo.git("add", "--all", "--", ".")
        tree = repo.git("write-tree").decode().strip()
        return repo.commit_tree(tree, base, "m", Identity(), MORNING)

    return commit


@pytest.fixture
def check(repo: Repo, base: str, tmp_path: Path) -> Callable[..., Evidence]:
    (tmp_path / "scratch").mkdir()
    policy = Policy(protected_paths=("tests/**",), timeout=30,
                    environment=Environment(variables=(("PYTHONPATH", "."),)))

    def ask(commit: str, how: Check, approved: frozenset[str] = frozenset()) -> Evidence:
        shell = Shell(policy, tmp_path / "scratch", "", BUBBLEWRAP, OURS)
        ci = LocalCI(repo, shell, Contract("", (Criterion("c", "", how),)), base, FixedClock())
        (evidence,) = ci.check(commit, approved)
        assert not (tmp_path / "scratch/verify").exists()
        return evidence

    return ask


FIXED = "def add(a, b):\n    return a + b\n"


def test_the_base_fails_with_its_output_and_the_fix_is_verified(
        check: Callable[..., Evidence], committed: Committed, base: str, repo: Repo) -> None:
    fixed = committed({"app.py": FIXED})

    before, after = check(base, PYTEST), check(fixed, PYTEST)

    assert (before.finding, after.finding) == (Finding.FAILING, Finding.VERIFIED)
    assert "assert add(1, 2) == 3" in before.detail
    assert b"1 failed" in before.output
    assert (after.tree, after.at) == (repo.tree_of(fixed), MORNING)


@pytest.mark.parametrize("change", [
    {"tests/test_app.py": "def test_add(): pass\n"},
    {"tests/test_app.py": None, "tests/test_other.py": "def test_ok(): pass\n"},
], ids=["test-weakened", "test-removed"])
def test_a_changed_test_proves_nothing(
        check: Callable[..., Evidence], committed: Committed,
        change: dict[str, str | None]) -> None:
    assert check(committed(change), PYTEST).finding is Finding.FAILING


def test_a_test_whose_change_a_person_approved_counts(
        check: Callable[..., Evidence], committed: Committed) -> None:
    changed = committed({"tests/test_app.py": "def test_add(): pass\n"})

    assert check(changed, PYTEST, frozenset({"tests/test_app.py"})).finding is Finding.VERIFIED


@pytest.mark.parametrize(("how", "finding", "detail"), [
    (CommandCheck(Command(("no-such-program",))), Finding.UNKNOWN, "could not be started"),
    (CommandCheck(Command(("sh", "-c", "no-such-program"))), Finding.UNKNOWN, "exit 127"),
    (CommandCheck(Command(("sh", "-c", "sleep 60"), 1)), Finding.UNKNOWN, "it timed out"),
    (CommandCheck(Command(("sh", "-c", "kill -9 $$"))), Finding.FAILING, "exit 137"),
    (CommandCheck(Command(("sh", "-c", "exit 3")), 3), Finding.VERIFIED, "exit 3"),
    (CommandCheck(Command(("test", "-e", ".git"))), Finding.FAILING, "exit 1"),
    (CommandCheck(Command(("test", "-e", "a.log"))), Finding.FAILING, "exit 1"),
    (FileCheck("app.py"), Finding.VERIFIED, "it is so"),
    (FileCheck("app.py", "a - b"), Finding.VERIFIED, "it is so"),
    (FileCheck("app.py", "a + b"), Finding.FAILING, "it does not have 'a + b'"),
    (FileCheck("none.py"), Finding.FAILING, "there is no such file"),
    (FileCheck("sub"), Finding.FAILING, "there is no such file"),
], ids=["no-program", "no-program-in-shell", "too-long", "killed", "expected-exit", "no-git",
        "no-ignored-file", "file", "text", "no-text", "no-file", "folder"])
def test_what_a_check_comes_to(
        check: Callable[..., Evidence], base: str, how: Check, finding: Finding,
        detail: str) -> None:
    evidence = check(base, how)

    assert evidence.finding is finding
    assert detail in evidence.detail


def test_a_new_file_that_decides_how_tests_are_run_is_left_out(
        check: Callable[..., Evidence], committed: Committed) -> None:
    """A conftest.py that lets every test pass; the tests beside it count."""
    cheat = "import pytest\n@pytest.fixture(autouse=True)\ndef skip(): pytest.skip()\n"
    commit = committed({"tests/conftest.py": cheat, "tests/test_more.py": "def test_more(): ...\n"})

    evidence = check(commit, PYTEST)

    assert evidence.finding is Finding.FAILING
    assert b"1 failed, 1 passed" in evidence.output


def test_checks_share_neither_files_nor_a_home_folder(
        repo: Repo, base: str, tmp_path: Path) -> None:
    (tmp_path / "scratch/home").mkdir(parents=True)
    (tmp_path / "scratch/home/left-by-a-run").write_text("x")
    first = "touch made $HOME/made $TMPDIR/made"
    second = "test -e made || test -e $HOME/made || test -e $TMPDIR/made || test -n \"$(ls -A ~)\""
    shell = Shell(Policy(), tmp_path / "scratch", "", BUBBLEWRAP, OURS)
    ci = LocalCI(repo, shell, Contract("", tuple(
        Criterion(id, "", how) for id, how in (
            ("first", CommandCheck(Command(("sh", "-c", first)))),
            ("second", CommandCheck(Command(("sh", "-c", second)))),
            ("third", FileCheck("made"))))), base, FixedClock())

    findings = [evidence.finding for evidence in ci.check(base, frozenset())]

    assert findings == [Finding.VERIFIED, Finding.FAILING, Finding.FAILING]


def test_a_file_is_looked_for_in_the_git_commit_and_not_behind_a_link(
        check: Callable[..., Evidence], committed: Committed, repo: Repo, base: str) -> None:
    assert repo.work_tree
    repo.git("read-tree", "--reset", "-u", base)
    (repo.work_tree / "d").symlink_to("/etc")
    (repo.work_tree / "f").symlink_to("/etc/hostname")
    repo.git("add", "--all", "--", ".")
    tree = repo.git("write-tree").decode().strip()
    commit = repo.commit_tree(tree, base, "links", Identity(), MORNING)

    findings = {check(commit, FileCheck(path)).finding for path in ("d/hostname", "f")}

    assert findings == {Finding.FAILING}


def test_a_protected_folder_that_became_a_link_is_the_bases_again(
        check: Callable[..., Evidence], repo: Repo, base: str, tmp_path: Path) -> None:
    assert repo.work_tree
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.git("read-tree", "--reset", "-u", base)
    (repo.work_tree / "tests/test_app.py").unlink()
    (repo.work_tree / "tests").rmdir()
    (repo.work_tree / "tests").symlink_to(outside)
    repo.git("add", "--all", "--", ".")
    tree = repo.git("write-tree").decode().strip()
    commit = repo.commit_tree(tree, base, "link", Identity(), MORNING)

    assert check(commit, PYTEST).finding is Finding.FAILING
    assert list(outside.iterdir()) == []
