"""Success criteria, looked at one by one: who is asked depends on what kind of check it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from controller.authorities.ci import Checked, LocalCI
from controller.authorities.git import agreed, changed_paths, predicate
from controller.authorities.hosted import Hosted
from controller.authorities.runtime import Runtime
from controller.core.action import Amend, Finish
from controller.core.canonical import JsonObject, digest, digest_bytes
from controller.core.constraints import Broken
from controller.core.contract import (
    CommandCheck,
    Contract,
    Criterion,
    FileCheck,
    GitCheck,
    HostedCheck,
    PersonCheck,
    ProbeCheck,
)
from controller.core.observation import bounded
from controller.core.policy import Policy
from controller.core.ports import Clock
from controller.core.prompt import describe
from controller.core.proof import key
from controller.core.records import Effect, Evidence, Finding, Measured, Outcome
from controller.repo import Entry, Repo

_DETAIL = 3000  # bytes of a failing check's output that the model is shown
_MOST = 6000  # bytes of what is said of a check at all


@dataclass(frozen=True, slots=True)
class Criteria:
    """Checks criteria of one run. `known` tells how a check, by its key, was made of the base; None
    when nobody has.
    """

    ci: LocalCI
    user: Repo
    contract: Contract
    policy: Policy
    clock: Clock
    runtime: Runtime
    hosted: Hosted | None = None
    known: Callable[[str], Measured | None] = lambda key: None

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
            return self.check(self.ci.base, frozenset(), after=base.contract)
        if not isinstance(action, Finish) or action.result != "done":
            return ()
        commit = outcome.source.head
        return self.check(commit, agreed(self.ci.repo, base.state, commit), person=effect.grant)

    def vet(self, tree: str, state: JsonObject) -> tuple[Broken, ...]:
        """What must pass before a Git commit of a tree, and does not."""
        wanted = self._must_pass
        allowed = agreed(self.ci.repo, state, tree) if wanted else frozenset[str]()
        instead = self._instead(tree, allowed) if wanted else {}
        found = [self._one(item, tree, tree, instead, allowed, None) for item in wanted]
        return tuple(Broken(item.subject, f"what must pass did not ({item.source}): {item.detail}")
                     for item in found if item.finding is not Finding.VERIFIED)

    def check(self, commit: str, agreed: frozenset[str], *, after: int = 0,
              person: str | None = None) -> tuple[Evidence, ...]:
        """Everything at `commit` that came with a version of the contract after `after`. Protected
        files are the base's, but for `agreed` paths; `person`: the confirmation of one.
        """
        tree, instead = self.ci.repo.tree_of(commit), self._instead(commit, agreed)
        return tuple(self._one(item, commit, tree, instead, agreed, person)
                     for item in self.subjects if item.governance.since > after)

    def _instead(self, commit: str, agreed: frozenset[str]) -> dict[str, Entry | None]:
        repo, start = self.ci.repo, self.ci.base
        base = repo.paths(start)
        return {path: repo.entry(start, path)
                for path in changed_paths(repo, start, commit) - agreed
                if self.policy.protects(path, base)}

    def _one(self, criterion: Criterion, commit: str, tree: str, instead: Mapping[
            str, Entry | None], agreed: frozenset[str], person: str | None) -> Evidence:
        begun = self.clock.now()
        measured = Measured(
            key(criterion.check, self.policy), commit, self.policy.mark,
            digest({path: entry.id if entry else "" for path, entry in instead.items()})[:16],
            begun)
        match criterion.check:
            case PersonCheck():
                said = f"a person said yes ({person})" if person else "no person has looked at it"
                finding = Finding.VERIFIED if person else Finding.FAILING
                return self._evidence(criterion, finding, said, tree, measured, "person")
            case CommandCheck() as check:
                known = None if commit == self.ci.base else self.known(measured.key)
                return self._of_command(criterion, self.ci.checked(
                    check, commit, instead, known, agreed, measured), tree)
            case FileCheck(path, contains):
                content = self.ci.repo.file(commit, path)
                return self._evidence(criterion, *_file(content, contains), tree, measured)
            case GitCheck() as check:
                found = predicate(check, self.ci.repo, self.user, self.ci.base, commit)
                return self._evidence(criterion, *found, tree, measured, "git")
            case HostedCheck() as check:
                return self._evidence(criterion, *self._hosted(check, commit), tree, measured)
            case ProbeCheck() as check:
                found = self.runtime.checked(check)
                return self._evidence(criterion, *found, tree, measured, "runtime")

    def _hosted(self, check: HostedCheck, commit: str) -> tuple[Finding, str]:
        if commit == self.ci.base:
            return Finding.FAILING, "hosted checks are looked at on the Git commit that is pushed"
        if self.hosted is None:
            return Finding.UNKNOWN, "config.yaml names no forge"
        return self.hosted.checked(check, commit)

    def _of_command(self, criterion: Criterion, checked: Checked, tree: str) -> Evidence:
        if isinstance(criterion.check, CommandCheck) and criterion.check.held_out:
            return replace(self._withheld(criterion, checked, tree),
                           tier=self.ci.shell.sandbox.tier)
        output = checked.output.encode()
        shown = "" if checked.finding is Finding.VERIFIED else "\n" + bounded(
            checked.output.rstrip(), _DETAIL, digest_bytes(output)[:16])
        made = self._evidence(criterion, checked.finding, checked.detail + shown, tree,
                              checked.measured)
        return replace(made, output=output, tier=self.ci.shell.sandbox.tier)

    def _withheld(self, criterion: Criterion, checked: Checked, tree: str) -> Evidence:
        """That held-out tests pass or not, and nothing else: whatever is recorded can be recalled.
        """
        results = checked.measured.results
        told = {Finding.VERIFIED: "they pass", Finding.FAILING: "they do not all pass",
                Finding.UNKNOWN: f"they could not be run: {checked.detail}"}[checked.finding]
        counts = f" ({results})" if results else ""
        return self._evidence(criterion, checked.finding, f"held-out tests: {told}{counts}", tree,
                              replace(checked.measured, results=None))

    def _evidence(self, criterion: Criterion, finding: Finding, detail: str, tree: str,
                  measured: Measured, authority: str = "ci") -> Evidence:
        said = bounded(self.ci.shell.redactor.text(detail), _MOST)
        return Evidence(criterion.id, finding, authority, describe(criterion.check), tree,
                        self.clock.now(), said, measured=measured)


def _file(content: bytes | None, contains: str | None) -> tuple[Finding, str]:
    if content is None:
        return Finding.FAILING, "there is no such file"
    if contains is None or contains.encode() in content:
        return Finding.VERIFIED, "it is so"
    return Finding.FAILING, f"it does not have {contains!r}"
