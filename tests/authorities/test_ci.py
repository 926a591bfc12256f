"""Criteria are checked by us, in a clean export, with protected files as the base has them."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.authorities.ci import LocalCI
from controller.authorities.criteria import Criteria
from controller.authorities.runtime import Runtime
from controller.checkout import create, open_checkout
from controller.commands import Shell
from controller.core.action import Command
from controller.core.contract import (
    Check,
    CommandCheck,
    Contract,
    Criterion,
    Expected,
    FileCheck,
    GitCheck,
    HeldOut,
)
from controller.core.policy import Environment, Policy
from controller.core.records import Evidence, Finding, Measured
from controller.core.results import Result, Results
from controller.core.tier import Tier
from controller.repo import Identity, Repo
from controller.sandbox.choice import Sandbox
from controller.sandbox.toolchain import toolchain
from controller.testing.clock import MORNING, FixedClock
from tests.bench import BUBBLEWRAP
from tests.conftest import Git

OPEN = Sandbox(Tier.NONE)
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


def criteria(repo: Repo, shell: Shell, base: str, *wanted: Criterion) -> Criteria:
    clock = FixedClock()
    return Criteria(LocalCI(repo, shell, base), repo, Contract("", wanted), shell.policy, clock,
                    Runtime(repo, shell, base, clock))


@pytest.fixture
def known() -> list[Measured]:
    """How the check was made of the base, once a test says."""
    return []


@pytest.fixture
def check(repo: Repo, base: str, tmp_path: Path, known: list[Measured]) -> Callable[..., Evidence]:
    (tmp_path / "scratch").mkdir()
    policy = Policy(protected_paths=("tests/**",), timeout=30,
                    environment=Environment(variables=(("PYTHONPATH", "."),)))

    def ask(commit: str, how: Check, approved: frozenset[str] = frozenset()) -> Evidence:
        shell = Shell(policy, tmp_path / "scratch", "", BUBBLEWRAP, OURS)
        asked = replace(criteria(repo, shell, base, Criterion("c", "", how)),
                        known=lambda _: known[0] if known else None)
        (evidence,) = asked.check(commit, approved)
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


def measured(evidence: Evidence) -> Measured:
    assert evidence.measured
    return evidence.measured


def test_evidence_says_how_it_was_got(
        check: Callable[..., Evidence], committed: Committed, base: str) -> None:
    before, fixed = check(base, PYTEST), committed({"app.py": FIXED})

    after = check(fixed, PYTEST)

    assert (measured(before).exit, measured(before).canary) == (1, "ran")
    made = measured(after)
    assert (made.commit, made.exit, made.canary) == (fixed, 0, "failed, as it must")
    assert made.results == Results({"tests.test_app::test_add": Result.PASSED})
    assert made.key == measured(before).key
    assert made.tools["pytest"].startswith("pytest ")
    assert made.begun == MORNING


@pytest.mark.parametrize(("files", "why"), [
    ({"app.py": FIXED + "import pytest\n_run = pytest.Function.runtest\n"
      "pytest.Function.runtest = lambda self: None\n"}, "a test that we added did not run"),
    ({"app.py": FIXED + "import _pytest.reports as r\n_made = r.TestReport.from_item_and_call\n"
      "def lies(item, call):\n    call.excinfo = None\n    return _made(item, call)\n"
      "r.TestReport.from_item_and_call = lies\n"}, "was not told of: exit 0"),
    ({"app.py": FIXED + "import os\nos._exit(0)\n"}, "it wrote no report, and on the base it did"),
    ({"app.py": FIXED, "tests/test_more.py": "import pytest\n\n\n@pytest.mark.skip\n"
      "def test_more(): ...\n"}, "skipped, and not so on the base"),
    ({"app.py": "called = []\n\n\ndef add(a, b):\n    called.append(a)\n    return a - b\n\n\n"
      "import _pytest.reports as r\n_made = r.TestReport.from_item_and_call\n"
      "def lies(item, call):\n    if called:\n        call.excinfo = None\n"
      "    return _made(item, call)\nr.TestReport.from_item_and_call = lies\n"},
     "was not told of: exit 0"),
], ids=["tests-do-nothing", "reports-lie", "leaves-early", "skips", "lies-of-the-product-only"])
def test_a_runner_that_tells_of_no_failure_proves_nothing(
        check: Callable[..., Evidence], committed: Committed, base: str, known: list[Measured],
        files: dict[str, str | None], why: str) -> None:
    known.append(measured(check(base, PYTEST)))

    evidence = check(committed(files), PYTEST)

    assert evidence.finding is Finding.FAILING
    assert why in evidence.detail


@pytest.mark.parametrize("stops", ["", "-x", "--maxfail=1"])
def test_what_did_not_run_beside_ours_is_missed_unless_the_runner_stops_there(
        check: Callable[..., Evidence], committed: Committed, base: str,
        known: list[Measured], stops: str) -> None:
    """A file that the second run leaves out stands for what comes after ours."""
    how = replace(PYTEST, command=Command((*PYTEST.command.argv, *filter(None, [stops]))))
    more: dict[str, str | None] = {"tests/test_zz.py": "def test_zz(): ...\n",
                                   "pytest.ini": "[pytest]\naddopts = -x\n"}
    known.append(replace(measured(check(base, how)), results=Results({
        "tests.test_app::test_add": Result.FAILED, "tests.test_zz::test_zz": Result.PASSED})))

    evidence = check(committed({"app.py": FIXED, **more}), how,
                     frozenset({"tests/test_zz.py", "pytest.ini"}))

    assert evidence.finding is (Finding.VERIFIED if stops else Finding.FAILING)
    assert stops or "tests.test_zz::test_zz does not pass" in evidence.detail


def test_a_new_test_that_mends_the_product_proves_nothing(
        check: Callable[..., Evidence], committed: Committed, base: str,
        known: list[Measured]) -> None:
    known.append(measured(check(base, PYTEST)))

    evidence = check(committed({"tests/test_aaa.py": "import app\n\napp.add = lambda a, b: a + b\n"
                                "\n\ndef test_ok(): ...\n"}), PYTEST)

    assert evidence.finding is Finding.FAILING
    assert "tests.test_app::test_add does not pass" in evidence.detail


def test_a_test_of_ours_that_ran_on_the_base_must_run_again(
        check: Callable[..., Evidence], committed: Committed, base: str,
        known: list[Measured]) -> None:
    hides = ("import _pytest.python as p\np.Module._collect = p.Module.collect\n"
             "p.Module.collect = lambda self: self._collect() if self.name == 'test_app.py' else []"
             "\n")
    known.append(measured(check(base, PYTEST)))

    evidence = check(committed({"app.py": FIXED + hides}), PYTEST)

    assert evidence.finding is Finding.FAILING
    assert "a test that we added did not run, and on the base it did" in evidence.detail


@pytest.mark.parametrize(("how", "finding", "detail"), [
    (CommandCheck(Command(("sh", "-c", "echo Found 0 errors")), output="^Found 0"),
     Finding.VERIFIED, "exit 0"),
    (CommandCheck(Command(("sh", "-c", "echo Found 3 errors")), output="^Found 0"),
     Finding.FAILING, "exit 0; its output does not match ^Found 0"),
    (CommandCheck(Command(("sh", "-c", "echo 1..1; echo ok 1 - a")), tests=Expected("tap")),
     Finding.VERIFIED, "exit 0; 1 passed"),
    (CommandCheck(Command(("sh", "-c", "echo 1..1; echo not ok 1 - a")), tests=Expected("tap")),
     Finding.FAILING, "exit 0; 1 failed; it exits 0, but the report tells of 1 failed: tap::a"),
    (CommandCheck(Command(("true",)), tests=Expected("out/*.xml")), Finding.FAILING,
     "exit 0; there is no report out/*.xml"),
    (CommandCheck(Command(("sh", "-c", "echo '<testsuite><testcase name=\"a\"/></testsuite>' > "
                           "$ONESHOT_REPORT/a.xml")), tests=Expected("$ONESHOT_REPORT/*.xml")),
     Finding.VERIFIED, "exit 0; 1 passed"),
    (CommandCheck(Command(("sh", "-c", "echo '<coverage line-rate=\"0.5\"/>' > c.xml")),
                  coverage="c.xml"), Finding.VERIFIED, "exit 0; line coverage 50.00%"),
    (CommandCheck(Command(("true",)), tests=Expected(minimum=2)), Finding.FAILING,
     "exit 0; it wrote no report that could tell of its tests: name where it does (tests.report)"),
    (CommandCheck(Command(("sh", "-c", "echo Ran 3 tests in 0.1s; echo 'OK (skipped=1)'"))),
     Finding.VERIFIED, "exit 0; 2 passed, 1 skipped"),
    (CommandCheck(Command(("true",)), coverage="c.xml"), Finding.FAILING,
     "exit 0; there is no coverage report c.xml"),
    (GitCheck(touches=("docs/**",)), Finding.VERIFIED, "it is so"),
    (GitCheck(based_on="none"), Finding.UNKNOWN, "your repository has no branch none"),
], ids=["output", "other-output", "tap", "tap-failed", "no-report", "report", "coverage",
        "nobody-tells", "unittest", "no-coverage", "touches-nothing", "no-branch"])
def test_what_a_check_wants_beside_an_exit_code(
        check: Callable[..., Evidence], base: str, how: Check, finding: Finding,
        detail: str) -> None:
    evidence = check(base, how)

    assert evidence.finding is finding
    assert evidence.detail.split("\n")[0] == detail


@pytest.mark.parametrize(("now", "why"), [
    ("Ran 3 tests in 0.1s\n\nOK (skipped=1)", "skipped, and not so on the base"),
    ("Ran 2 tests in 0.1s\n\nOK", "passed on the base, and did not now"),
], ids=["skipped", "fewer"])
def test_what_unittest_says_in_sum_must_be_no_less_than_on_the_base(
        check: Callable[..., Evidence], committed: Committed, base: str, known: list[Measured],
        now: str, why: str) -> None:
    how = CommandCheck(Command(("sh", "-c", "cat said || printf 'Ran 3 tests in 0.1s\n\nOK\n'")))
    known.append(measured(check(base, how)))

    evidence = check(committed({"said": now + "\n"}), how)

    assert evidence.finding is Finding.FAILING
    assert why in evidence.detail


def test_unittest_that_is_green_on_the_base_is_green_afterwards(
        repo: Repo, committed: Committed, tmp_path: Path) -> None:
    """The test that we add on the base is not among those that must pass."""
    (tmp_path / "scratch").mkdir()
    tests = ("import unittest\n\n\nclass GreenTest(unittest.TestCase):\n"
             "    def test_one(self):\n        self.assertTrue(True)\n")
    green: dict[str, str | None] = {"tests/test_app.py": None, "tests/test_green.py": tests}
    base, fixed = committed(green), committed({**green, "app.py": FIXED})
    how = CommandCheck(Command((sys.executable, "-m", "unittest", "discover", "-s", "tests")))
    shell = Shell(Policy(), tmp_path / "scratch", "", BUBBLEWRAP, OURS)
    asked = criteria(repo, shell, base, Criterion("c", "", how))

    (before,) = asked.check(base, frozenset())
    (after,) = replace(asked, known=lambda _: before.measured).check(fixed, frozenset())

    assert (before.detail, measured(before).canary) == ("exit 0; 1 passed", "ran")
    assert (after.detail, measured(after).canary) == ("exit 0; 1 passed", "failed, as it must")


def test_coverage_that_is_lower_than_the_bases_is_too_little(
        check: Callable[..., Evidence], committed: Committed, base: str,
        known: list[Measured]) -> None:
    how = CommandCheck(Command(("sh", "-c", "cp share $ONESHOT_REPORT/c.xml || echo '<coverage "
                                "line-rate=\"0.5\"/>' > $ONESHOT_REPORT/c.xml")),
                       coverage="$ONESHOT_REPORT/c.xml")
    known.append(measured(check(base, how)))

    evidence = check(committed({"share": "<coverage line-rate='0.25'/>"}), how)

    assert "line coverage is 25.00%, and was 50.00% on the base" in evidence.detail


def test_a_flaky_check_is_run_so_often_and_its_figures_are_shown(
        check: Callable[..., Evidence], base: str, tmp_path: Path) -> None:
    """It holds in every second run: what it knows of the one before lies outside the sandbox."""
    seen = tmp_path / "seen"
    seen.mkdir(mode=0o777)
    seen.chmod(0o777)
    line = f"test -e {seen}/a && rm {seen}/a || {{ touch {seen}/a; exit 1; }}"
    flaky = CommandCheck(Command(("sh", "-c", line)), runs=4, passes=2)
    shell = Shell(Policy(), tmp_path / "scratch", "", OPEN, OURS)

    found = criteria(open_checkout(tmp_path / "user"), shell, base, Criterion("c", "", flaky),
                     Criterion("d", "", replace(flaky, passes=3))).check(base, frozenset())

    assert [(item.finding, item.detail.split("\n")[0]) for item in found] == [
        (Finding.VERIFIED, "exit 0; held in 2 of 4 runs"),
        (Finding.FAILING, "exit 1; held in 2 of 4 runs")]


def test_git_says_whether_a_branch_has_merges_and_what_it_is_based_on(
        check: Callable[..., Evidence], committed: Committed, base: str, repo: Repo,
        checkout: Path, git: Git) -> None:
    mine = committed({"app.py": FIXED})
    git(checkout, "commit", "-q", "--allow-empty", "-m", "Theirs")
    theirs = open_checkout(checkout).commit("HEAD")
    repo.git("fetch", "-q", str(checkout), extra={"GIT_ALLOW_PROTOCOL": "file"})
    merged = repo.git("commit-tree", repo.tree_of(mine), "-p", mine, "-p", theirs, stdin=b"m",
                      extra={"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                             "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
                      ).decode().strip()

    assert "these are merges" in check(merged, GitCheck(no_merges=True)).detail
    assert check(mine, GitCheck(no_merges=True)).finding is Finding.VERIFIED
    assert "it changes other files: app.py" in check(mine, GitCheck(touches=("docs/**",))).detail


def test_held_out_tests_decide_and_nothing_of_them_is_told(
        check: Callable[..., Evidence], committed: Committed, base: str, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.mkdir()
    (held / "test_held.py").write_text(
        "from app import add\n\n\ndef test_secret():\n    assert add(40, 2) == 42, 'the secret'\n")
    how = CommandCheck(Command((sys.executable, "-m", "pytest", "-q", "held")),
                       held_out=HeldOut(str(held), "held"))

    before, after = check(base, how), check(committed({"app.py": FIXED}), how)
    missing = check(base, replace(how, held_out=HeldOut(str(tmp_path / "none"), "held")))

    assert (before.finding, after.finding) == (Finding.FAILING, Finding.VERIFIED)
    assert before.detail == "held-out tests: they do not all pass (1 failed)"
    assert (before.output, measured(before).results) == (b"", None)
    assert "secret" not in str(before)
    assert missing.finding is Finding.UNKNOWN
    assert "there is no folder" in missing.detail


@pytest.mark.parametrize("link", ["held", "a/held"])
def test_held_out_tests_are_laid_through_no_link(
        check: Callable[..., Evidence], repo: Repo, base: str, tmp_path: Path, link: str) -> None:
    held, outside = tmp_path / "held-out", tmp_path / "outside"
    for folder in (held, outside):
        folder.mkdir()
    (held / "test_held.py").write_text("")
    assert repo.work_tree
    repo.git("read-tree", "--reset", "-u", base)
    (repo.work_tree / link).parent.mkdir(exist_ok=True)
    (repo.work_tree / link).symlink_to(outside)
    repo.git("add", "--all", "--", ".")
    tree = repo.git("write-tree").decode().strip()
    commit = repo.commit_tree(tree, base, "link", Identity(), MORNING)

    found = check(commit, CommandCheck(Command(("true",)), held_out=HeldOut(str(held), link)))

    assert found.finding is Finding.UNKNOWN
    assert list(outside.iterdir()) == []


def test_checks_share_neither_files_nor_a_home_folder(
        repo: Repo, base: str, tmp_path: Path) -> None:
    (tmp_path / "scratch/home").mkdir(parents=True)
    (tmp_path / "scratch/home/left-by-a-run").write_text("x")
    first = "touch made $HOME/made $TMPDIR/made"
    second = "test -e made || test -e $HOME/made || test -e $TMPDIR/made || test -n \"$(ls -A ~)\""
    shell = Shell(Policy(), tmp_path / "scratch", "", BUBBLEWRAP, OURS)
    asked = criteria(repo, shell, base, *(Criterion(id, "", how) for id, how in (
        ("first", CommandCheck(Command(("sh", "-c", first)))),
        ("second", CommandCheck(Command(("sh", "-c", second)))),
        ("third", FileCheck("made")))))

    findings = [evidence.finding for evidence in asked.check(base, frozenset())]

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
