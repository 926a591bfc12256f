"""Local CI as an authority: success criteria, checked by us in a clean export of one Git commit.

The verdict is the exit code of a command that the user chose, in a folder that we made. Protected
files are taken from the base, so that a run can't turn green by changing what is measured.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from controller.commands import Ran, Shell
from controller.core.action import Finish
from controller.core.canonical import digest_bytes
from controller.core.contract import CommandCheck, Criterion, FileCheck
from controller.core.glob import matches
from controller.core.observation import bounded
from controller.core.ports import Clock
from controller.core.projection import approved_paths
from controller.core.prompt import describe
from controller.core.records import Effect, Evidence, Finding, Outcome
from controller.core.redact import printable, redact
from controller.repo import Repo

_DETAIL = 3000  # bytes of a failing check's output that the model is shown
_CANNOT_RUN = (126, 127)  # what a shell exits with when there is no such program


@dataclass(frozen=True, slots=True)
class LocalCI:
    """Checks criteria of one run."""

    repo: Repo
    shell: Shell
    criteria: tuple[Criterion, ...]
    base: str
    clock: Clock

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """Every criterion at the run's Git commit, when the effect is a finish as done."""
        action = effect.candidate.transition.action
        if not isinstance(action, Finish) or action.result != "done":
            return ()
        return self.check(outcome.source.head, approved_paths(effect.candidate.base.state))

    def check(self, commit: str, approved: frozenset[str]) -> tuple[Evidence, ...]:
        """Every criterion in a clean export of `commit`; `approved` paths are taken from it."""
        folder = self.shell.scratch / "verify"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            self.repo.export(commit, folder)
            self._protect(commit, folder, approved)
            tree = self.repo.tree_of(commit)
            return tuple(self._one(criterion, folder, tree) for criterion in self.criteria)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _protect(self, commit: str, folder: Path, approved: frozenset[str]) -> None:
        """Put protected files back as the base has them; new ones of that kind stay."""
        for letter, path in self.repo.changed(self.base, commit):
            if path in approved or not matches(path, self.shell.policy.protected_paths):
                continue
            if letter != "A":
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                place.write_bytes(self.repo.blob(self.base, path) or b"")

    def _one(self, criterion: Criterion, folder: Path, tree: str) -> Evidence:
        match criterion.check:
            case CommandCheck(command, expect_exit):
                ran = self.shell.run(command, folder)
                finding = _finding(ran, expect_exit)
                shown = printable(redact(ran.output.decode("utf-8", "replace")))
                output = shown.encode()
                failed = "" if finding is Finding.VERIFIED else "\n" + bounded(
                    shown.rstrip(), _DETAIL, digest_bytes(output)[:16])
                return self._evidence(criterion, finding, tree, ran.ending + failed, output)
            case FileCheck(path, contains):
                return self._evidence(criterion, *_file(folder / path, contains, tree))

    def _evidence(self, criterion: Criterion, finding: Finding, tree: str, detail: str,
                  output: bytes = b"") -> Evidence:
        return Evidence(criterion.id, finding, "ci", describe(criterion.check), tree,
                        self.clock.now(), detail, output)


def _finding(ran: Ran, expect_exit: int) -> Finding:
    if ran.exit is None or (ran.exit in _CANNOT_RUN and ran.exit != expect_exit):
        return Finding.UNKNOWN
    return Finding.VERIFIED if ran.exit == expect_exit else Finding.FAILING


def _file(place: Path, contains: str | None, tree: str) -> tuple[Finding, str, str]:
    if not place.is_file() or place.is_symlink():
        return Finding.FAILING, tree, "there is no such file"
    if contains is None or contains.encode() in place.read_bytes():
        return Finding.VERIFIED, tree, "it is so"
    return Finding.FAILING, tree, f"it does not have {contains!r}"
