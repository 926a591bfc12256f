"""Local CI as an authority: success criteria, checked by us in a clean export of one Git commit.

The verdict is the exit code of a command that the user chose, in a folder that we made. Protected
files are taken from the base, so that a run can't turn green by changing what is measured.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.authorities.git import agreed, changed_paths
from controller.commands import Ran, Shell, exported
from controller.core.action import Amend, Command, Finish
from controller.core.canonical import JsonObject, digest_bytes
from controller.core.constraints import Broken
from controller.core.contract import CommandCheck, Contract, Criterion, FileCheck, PersonCheck
from controller.core.observation import bounded
from controller.core.ports import Clock
from controller.core.prompt import describe
from controller.core.records import Effect, Evidence, Finding, Outcome
from controller.core.tier import Tier
from controller.repo import Entry, Repo

_DETAIL = 3000  # bytes of a failing check's output that the model is shown
_EMPTY = re.compile(
    r"(?m)^(?:=+ )?(?:no tests ran|collected 0 items|Ran 0 tests|No tests found|# tests 0$)|"
    r"^Tests:\s{1,20}0 total|(?m:^running 0 tests$)|\[no test files\]|"
    r"(?m:^=* ?(?:\d{1,9} (?:skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+ in [\d.]+s)")
"""What a runner says that has run no test."""

_SOME = re.compile(r"\b[1-9]\d{0,9} (?:passed|passing|tests? passed)|\bRan [1-9]\d{0,9} test|"
                   r"(?m:^# tests [1-9])|^ok\s")
"""What one says that has run some; of several runners one may have had none."""

_CANNOT_RUN = (126, 127)  # what a shell exits with when there is no such program


@dataclass(frozen=True, slots=True)
class LocalCI:
    """Checks criteria of one run."""

    repo: Repo
    shell: Shell
    contract: Contract
    base: str
    clock: Clock

    @property
    def subjects(self) -> tuple[Criterion, ...]:
        """The criteria, and of the constraints those that name a command that must pass."""
        return (*self.contract.success_criteria, *self._must_pass)

    @property
    def _must_pass(self) -> tuple[Criterion, ...]:
        return tuple(Criterion(item.id, item.text, CommandCheck(item.must_pass), item.governance)
                     for item in self.contract.constraints if item.must_pass)

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """Everything at the run's Git commit, when the effect is a finish as done. When it is a new
        version of the contract: what that brings, on the base.
        """
        action, base = effect.candidate.transition.action, effect.candidate.base
        if isinstance(action, Amend):
            return self.check(self.base, frozenset(), after=base.contract)
        if not isinstance(action, Finish) or action.result != "done":
            return ()
        commit = outcome.source.head
        return self.check(commit, agreed(self.repo, base.state, commit), person=effect.grant)

    def vet(self, tree: str, state: JsonObject) -> tuple[Broken, ...]:
        """What must pass before a Git commit of a tree, and does not."""
        wanted = self._must_pass
        instead = self._instead(tree, agreed(self.repo, state, tree)) if wanted else {}
        found = [self._one(item, tree, tree, instead, None) for item in wanted]
        return tuple(Broken(item.subject, f"what must pass did not ({item.source}): {item.detail}")
                     for item in found if item.finding is not Finding.VERIFIED)

    def check(self, commit: str, agreed: frozenset[str], *, after: int = 0,
              person: str | None = None) -> tuple[Evidence, ...]:
        """Everything at `commit` that came with a version of the contract after `after`. Protected
        files are the base's, but for `agreed` paths; `person`: the confirmation of one.
        """
        tree, instead = self.repo.tree_of(commit), self._instead(commit, agreed)
        return tuple(self._one(item, commit, tree, instead, person)
                     for item in self.subjects if item.governance.since > after)

    def _instead(self, commit: str, agreed: frozenset[str]) -> dict[str, Entry | None]:
        base = self.repo.paths(self.base)
        return {path: self.repo.entry(self.base, path)
                for path in changed_paths(self.repo, self.base, commit) - agreed
                if self.shell.policy.protects(path, new=path not in base)}

    def _one(self, criterion: Criterion, commit: str, tree: str,
             instead: Mapping[str, Entry | None], person: str | None) -> Evidence:
        match criterion.check:
            case PersonCheck():
                said = f"a person said yes ({person})" if person else "no person has looked at it"
                finding = Finding.VERIFIED if person else Finding.FAILING
                return replace(self._evidence(criterion, finding, said, tree), authority="person")
            case CommandCheck(command, expect_exit):
                ran = self._run(command, commit, instead)
                finding, output = _finding(ran, expect_exit), ran.output.encode()
                failed = "" if finding is Finding.VERIFIED else "\n" + bounded(
                    ran.output.rstrip(), _DETAIL, digest_bytes(output)[:16])
                none = "; no test ran" if _ran_nothing(ran) else ""
                return self._evidence(criterion, finding, ran.ending + none + failed, tree, output,
                                      self.shell.sandbox.tier)
            case FileCheck(path, contains):
                return self._evidence(criterion, *_file(self.repo.file(commit, path), contains),
                                      tree)

    def _run(self, command: Command, commit: str, instead: Mapping[str, Entry | None]) -> Ran:
        """Run a command in a clean export, with a home folder that no other command has seen."""
        with exported(self.repo, self.shell, commit, "verify", instead) as (shell, folder):
            return shell.run(command, folder)

    def _evidence(self, criterion: Criterion, finding: Finding, detail: str, tree: str,
                  output: bytes = b"", tier: Tier | None = None) -> Evidence:
        return Evidence(criterion.id, finding, "ci", describe(criterion.check), tree,
                        self.clock.now(), detail, output, tier)


def _ran_nothing(ran: Ran) -> bool:
    return ran.exit == 0 and bool(_EMPTY.search(ran.output)) and not _SOME.search(ran.output)


def _finding(ran: Ran, expect_exit: int) -> Finding:
    if ran.exit is None or (ran.exit in _CANNOT_RUN and ran.exit != expect_exit):
        return Finding.UNKNOWN
    if _ran_nothing(ran):
        return Finding.FAILING
    return Finding.VERIFIED if ran.exit == expect_exit else Finding.FAILING


def _file(content: bytes | None, contains: str | None) -> tuple[Finding, str]:
    if content is None:
        return Finding.FAILING, "there is no such file"
    if contains is None or contains.encode() in content:
        return Finding.VERIFIED, "it is so"
    return Finding.FAILING, f"it does not have {contains!r}"
