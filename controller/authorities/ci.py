"""Local CI as an authority: a command that the user chose, in a clean export of one Git commit.

The verdict is its exit code. Protected files are taken from the base, so that a run can't turn
green by changing what is measured; reports are written outside the worktree, and only take a
verdict back; and where all is green, a test that must fail is added: a runner that tells of no
failure proves nothing.
"""

import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from controller.authorities.canary import canary_beside
from controller.authorities.git import changed_paths
from controller.authorities.written import REPORT, TAP, coverage_in, results_in, written
from controller.commands import Ran, Shell, exported
from controller.core.action import Command
from controller.core.contract import CommandCheck
from controller.core.observation import quoted
from controller.core.policy import Reach, looks_like_test
from controller.core.records import Finding, Measured
from controller.core.reports import SUMS
from controller.core.results import Result, Results, shortfall
from controller.folders import fresh
from controller.repo import Entry, Repo

_EMPTY = re.compile(
    r"(?m)^(?:=+ )?(?:no tests ran|collected 0 items|Ran 0 tests|No tests found|# tests 0$)|"
    r"^Tests:\s{1,20}0 total|(?m:^running 0 tests$)|\[no test files\]|"
    r"(?m:^=* ?(?:\d{1,9} (?:skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+ in [\d.]+s)")
"""What a runner says that has run no test."""

_SOME = re.compile(r"\b[1-9]\d{0,9} (?:passed|passing|tests? passed)|\bRan [1-9]\d{0,9} test|"
                   r"(?m:^# tests [1-9])|^ok\s")
"""What one says that has run some; of several runners one may have had none."""

_STOPS = re.compile(r"\s(?:-[a-zA-Z]*x[a-zA-Z]*|--exitfirst|--maxfail|--fail-?fast|-f)\b")
"""What makes a runner stop at the first failure."""

_CANNOT_RUN = (126, 127)  # what a shell exits with when there is no such program

_TOOLS = ("python3", "python", "pytest", "node", "npm", "go", "cargo", "java", "mvn", "ctest",
          "ruff", "mypy", "tox")
"""Programs whose version is kept with what they said."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check came to, why, and the whole output of the run that tells most."""

    finding: Finding
    detail: str
    output: str
    measured: Measured


@dataclass(frozen=True, slots=True)
class _Once:
    """One run of a check's command: `faults` are why it does not hold, besides its exit."""

    ran: Ran
    finding: Finding
    faults: tuple[str, ...] = ()
    results: Results | None = None
    coverage: float | None = None
    canary: bool = False  # the test that we added has run


@dataclass(frozen=True, slots=True)
class LocalCI:
    """Makes the command checks of one run."""

    repo: Repo
    shell: Shell
    base: str
    held_out: Callable[[str], Path] = Path  # where a folder of held-out tests lies
    _versions: dict[str, str] = field(default_factory=dict)  # of tools, asked once

    def checked(self, check: CommandCheck, commit: str, instead: Mapping[str, Entry | None],
                known: Measured | None, agreed: frozenset[str], measured: Measured) -> Checked:
        """Whether a check holds at a Git commit, in which the paths of `instead` are other files.

        `known`: how the same check was made of the base; `measured`: as far as it is known before.
        """
        on_base = commit == self.base
        runs = [self._once(check, commit, instead, known, agreed, passing=on_base)
                for _ in range(check.runs)]
        held = [once for once in runs if once.finding is Finding.VERIFIED]
        told = held[-1] if len(held) >= check.passes else next(
            once for once in runs if once.finding is not Finding.VERIFIED)
        finding = told.finding
        figures = f"; held in {len(held)} of {check.runs} runs" if check.runs > 1 else ""
        kept = replace(measured, exit=told.ran.exit, results=told.results, held=len(held),
                       coverage=told.coverage, runs=check.runs, tools=self._tools(check.command),
                       canary="ran" if told.canary else "")
        if finding is Finding.VERIFIED and not on_base and check.canary:
            fault, canary = self._told_of_failure(check, commit, instead, known, told.results)
            kept = replace(kept, canary=canary)
            if fault:
                return Checked(Finding.FAILING, fault, told.ran.output, kept)
        alone = "; the test that we add was not collected" * (kept.canary == "did not run")
        return Checked(finding, _detail(told) + figures + alone, told.ran.output, kept)

    def _once(self, check: CommandCheck, commit: str, instead: Mapping[str, Entry | None],
              known: Measured | None, agreed: frozenset[str], *, passing: bool) -> _Once:
        with exported(self.repo, self.shell, commit, "verify", instead) as (shell, folder):
            missing = self._hold_out(check, folder)
            if missing:
                return _Once(Ran(missing, None, "", started=False), Finding.UNKNOWN)
            mark = self._canary(check, folder, fails=False) if passing and check.canary else ""
            ran, report = self._run(check, shell, folder)
            exited = _finding(ran, check.expect_exit)
            if exited is Finding.UNKNOWN:
                return _Once(ran, Finding.UNKNOWN)
            added = mark if mark and (report / mark).exists() else ""
            results, faults = results_in(check, ran.output, folder, report, shell.redactor, added)
            faults += _judged(check, ran, results, known, agreed)
            coverage, less = coverage_in(check.coverage, folder, report)
            faults += less or _less(coverage, known)
            return _Once(ran, Finding.FAILING if faults else exited, tuple(faults), results,
                         coverage, bool(added))

    def _told_of_failure(self, check: CommandCheck, commit: str,
                         instead: Mapping[str, Entry | None],
                         known: Measured | None, green: Results | None) -> tuple[str, str]:
        """Why a runner that says all is green is not to be believed (empty: it is), and what became
        of the test that fails. New tests are left out, since they could change what the base's come
        to. `green`: what it said with them, and without ours.
        """
        tests = {path: None for path in changed_paths(self.repo, self.base, commit)
                 if self.repo.entry(self.base, path) is None and looks_like_test(path)}
        with exported(self.repo, self.shell, commit, "verify", {**instead, **tests}) as (
                shell, folder):
            self._hold_out(check, folder)
            mark = self._canary(check, folder, fails=True)
            if not mark:
                return "", ""
            ran, report = self._run(check, shell, folder, " --maxfail=0")
            results, faults = results_in(check, ran.output, folder, report, shell.redactor)
            if ran.exit is None:
                return f"beside a test that we added it did not end: {ran.ending}", ""
            if not (report / mark).exists():
                expected = known is not None and known.canary == "ran"
                return ("a test that we added did not run, and on the base it did: failures may "
                        f"not be told of ({ran.ending})" if expected else ""), "did not run"
            told = not faults and (results is None or any(
                result is Result.FAILED and (mark in id or id.startswith(SUMS))
                for id, result in results.tests.items()))
            if ran.exit == check.expect_exit or not told:
                return (f"a test that we added, and that must fail, was not told of: {ran.ending}; "
                        "something in the Git commit changes what tests come to"), "passed"
            before, now = (green.tests if green else {}), (results.tests if results else {})
            base = known.results.tests if known and known.results else {}
            stops = _STOPS.search(str(check.command))  # then what comes after ours has not run
            other = [id for id, result in before.items() if id in base and (id in now or not stops)
                     and result is Result.PASSED and now.get(id) is not Result.PASSED]
            if other:
                return (f"beside a test that we added, {quoted(other[0])} does not pass: what tests"
                        " come to depends on which there are"), "failed, as it must"
            return "", "failed, as it must"

    def _canary(self, check: CommandCheck, folder: Path, *, fails: bool) -> str:
        """Put a test of ours beside the project's; the mark that it leaves, empty: none is put."""
        paths = sorted(self.repo.paths(self.base))
        mark = secrets.token_hex(4)
        beside = canary_beside(str(check.command), paths, mark, self._text, fails=fails)
        place = folder / beside[0] if beside else None
        if beside is None or place is None or place.parent.resolve() != (
                folder.resolve() / beside[0]).parent or not place.parent.is_dir():
            return ""  # or a link has taken the place of the folder
        place.write_text(beside[1])
        return mark

    def _hold_out(self, check: CommandCheck, folder: Path) -> str:
        """Lay the tests that no model has seen into an export; why that can't be."""
        if check.held_out is None:
            return ""
        source, to = self.held_out(check.held_out.source), folder / check.held_out.to
        if not source.is_dir():
            return f"there is no folder {check.held_out.source} with held-out tests"
        for above in to.parents:
            if above == folder:
                break
            if above.is_symlink():
                return f"{check.held_out.to} lies behind a link in the Git commit"
        if to.exists() or to.is_symlink():
            return f"the Git commit has something at {check.held_out.to}, where held-out tests go"
        shutil.copytree(source, to)
        return ""

    def _text(self, path: str) -> str:
        return (self.repo.file(self.base, path) or b"").decode("utf-8", "replace")

    def _run(self, check: CommandCheck, shell: Shell, folder: Path,
             more_for_pytest: str = "") -> tuple[Ran, Path]:
        """Run the command, with a folder for its report; nothing of an earlier report is there."""
        report = fresh(shell.scratch / "report", shell.sandbox.user)
        for pattern in filter(None, (check.tests.report, check.coverage)):
            for place in written(folder, pattern) if pattern != TAP else ():
                place.unlink()
        more = {REPORT: str(report)}
        if not check.tests.report:
            theirs = dict(shell.policy.environment.variables).get("PYTEST_ADDOPTS", "")
            more["PYTEST_ADDOPTS"] = (f"{theirs} -p no:cacheprovider -o junit_family=xunit2 "
                                      f"{quote(f'--junitxml={report}/junit.xml')}"
                                      f"{more_for_pytest}").strip()
        return shell.run(check.command, folder, more, Reach(writes=(str(report),))), report

    def _tools(self, command: Command) -> dict[str, str]:
        """The versions of the programs that a command line names."""
        named = [tool for tool in _TOOLS if re.search(rf"(?:^|[\s/;&|]){re.escape(tool)}(?:\s|$)",
                                                      str(command))]
        for tool in named:
            if tool not in self._versions:
                shell = replace(self.shell, scratch=fresh(self.shell.scratch / "tools", None))
                asked = Command((tool, "version" if tool == "go" else "--version"), 20)
                ran = shell.run(asked, fresh(shell.scratch / "empty", shell.sandbox.user))
                self._versions[tool] = ran.output.strip().split("\n")[0][:100]
        return {tool: self._versions[tool] for tool in named if self._versions[tool]}


def _judged(check: CommandCheck, ran: Ran, results: Results | None, known: Measured | None,
            agreed: frozenset[str]) -> list[str]:
    """Why a run whose exit code may be as wanted does not hold."""
    found = []
    if check.output and not re.search(check.output, ran.output, re.MULTILINE):
        found.append(f"its output does not match {check.output}")
    base = known.results if known else None
    if results is not None and known is not None and base is None:
        found.append("it wrote a report, and on the base it did not")
    if results is None:
        if base and base.tests:
            found.append("it wrote no report, and on the base it did")
        elif _ran_nothing(ran):
            found.append("no test ran")
        if check.tests.asks:
            found.append("it wrote no report that could tell of its tests: name where it does "
                         "(tests.report)")
        return found
    failed = [id for id, result in results.tests.items() if result is Result.FAILED]
    if failed and check.expect_exit == 0 and ran.exit == 0:
        found.append(f"it exits 0, but the report tells of {len(failed)} failed: "
                     f"{quoted(failed[0])}")
    return found + list(shortfall(check.tests, results, base, agreed))


def _less(coverage: float | None, known: Measured | None) -> list[str]:
    """Why so much coverage is too little."""
    before = known.coverage if known else None
    if coverage is None or before is None or coverage >= before:
        return []
    return [f"line coverage is {coverage:.2%}, and was {before:.2%} on the base"]


def _detail(once: _Once) -> str:
    said = [once.ran.ending, *([str(once.results)] if once.results else []),
            *([f"line coverage {once.coverage:.2%}"] if once.coverage is not None else []),
            *once.faults]
    return "; ".join(said)


def _ran_nothing(ran: Ran) -> bool:
    return ran.exit == 0 and bool(_EMPTY.search(ran.output)) and not _SOME.search(ran.output)


def _finding(ran: Ran, expect_exit: int) -> Finding:
    if ran.exit is None or (ran.exit in _CANNOT_RUN and ran.exit != expect_exit):
        return Finding.UNKNOWN
    return Finding.VERIFIED if ran.exit == expect_exit else Finding.FAILING
