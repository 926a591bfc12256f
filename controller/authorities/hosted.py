"""The forge as an authority: checks of the very Git commit, the issue, what others have pushed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from controller.authorities.issue import Seen, compared
from controller.core.action import Comment, PullRequest, Push
from controller.core.canonical import JsonObject, digest, entries
from controller.core.contract import Contract, HostedCheck
from controller.core.delivery import Issue
from controller.core.drift import Drift
from controller.core.head import Head
from controller.core.hosted import Check, State, ended, judge, last_word, last_words, pushed
from controller.core.policy import ISSUE, LOGS
from controller.core.ports import Clock
from controller.core.records import (
    COMMENTED,
    OPENED,
    PUSHED,
    Effect,
    Evidence,
    Finding,
    Outcome,
    Remains,
    Status,
)
from controller.forge.outside import Outside
from controller.web import Unreachable

_SHOWN = 40  # checks that the state names
_SUBJECTS = {Push: PUSHED, PullRequest: OPENED, Comment: COMMENTED}


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the forge said at one look; `fault`: why it said nothing."""

    at: datetime
    commit: str
    checks: tuple[Check, ...] = ()
    remote: str = ""
    required: tuple[str, ...] = ()
    issue: Issue | None = None
    fault: str = ""


@dataclass(slots=True)
class Hosted:
    """What the forge says about one run."""

    outside: Outside
    contract: Contract
    clock: Clock
    trusted: frozenset[str] = frozenset()  # logs, issue: text that the user vouches for
    _last: _Answers | None = field(default=None, repr=False)

    def look(self, head: Head) -> Seen:
        """What differs from what the head's state says. The forge is not asked oftener than the
        user wants it.
        """
        now, commit = self.clock.now(), pushed(head.state)
        last = self._last
        if last is None or last.commit != commit or (
                now - last.at).total_seconds() >= self.outside.config.refresh:
            last = self._last = self._asked(now, commit)
        if last.fault:
            return Seen({}, (Drift("ci", f"the forge can't be asked now: {last.fault}", news=True),
                             ))
        return self._seen(head, last)

    def examine(self, effect: Effect) -> Remains:
        """Whether the forge has what an effect was to write."""
        try:
            there = self.outside.written(effect)
            if not there and not isinstance(effect.candidate.transition.action, Push):
                self.clock.sleep(self.outside.config.settle)  # lists lag behind what was written
                there = self.outside.written(effect)
        except Unreachable as why:
            return Remains(None, f"the forge can't be asked: {why}")
        return Remains(bool(there), f"the forge has it: {there}" if there else
                       "the forge does not have it")

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """Whether what was delivered is there."""
        subject = _SUBJECTS.get(type(effect.candidate.transition.action))
        if subject is None or outcome.status is not Status.DONE:
            return ()
        seen = self.examine(effect)
        finding = {True: Finding.VERIFIED, False: Finding.FAILING, None: Finding.UNKNOWN}
        detail = self.outside.redactor.text(seen.text.removeprefix("the forge has it: "))
        return (Evidence(subject, finding[seen.happened], "forge", effect.aim.target,
                         effect.source.tree, self.clock.now(), detail),)

    def checked(self, wanted: HostedCheck, commit: str) -> tuple[Finding, str]:
        """Whether a check has succeeded on a Git commit: said twice, some time apart."""
        try:
            there = self.outside.remote.at(self.outside.branch)
            if there != commit:
                return Finding.UNKNOWN, (f"{self.outside.branch} on the forge is at "
                                         f"{there or 'nothing'}: `push` {commit[:12]} first")
            first = self._newest(wanted, commit)
            found = judge(wanted, first)
            if found[0] is not Finding.VERIFIED:
                return found
            self.clock.sleep(self.outside.config.settle)
            again = self._newest(wanted, commit)
        except Unreachable as why:
            return Finding.UNKNOWN, f"the forge can't be asked: {why}"
        if (again.order, again.state) != (first.order, first.state):
            return Finding.UNKNOWN, f"{wanted.name} is still changing: {again.state.value}"
        return found

    def _newest(self, wanted: HostedCheck, commit: str) -> Check:
        return last_word(wanted, self.outside.forge.checks(commit), commit)

    def _asked(self, now: datetime, commit: str) -> _Answers:
        forge, config = self.outside.forge, self.outside.config
        full = config.kind != "command"
        try:
            return _Answers(
                now, commit, last_words(forge.checks(commit), commit) if commit else (),
                self.outside.remote.at(self.outside.branch) or "nothing" if commit else "",
                forge.required(config.base) if full else (),
                forge.issue(config.issue) if full and config.issue is not None else None)
        except Unreachable as why:
            return _Answers(now, commit, fault=str(why))

    def _seen(self, head: Head, answers: _Answers) -> Seen:
        known, commit = entries(head.state.get("hosted_ci")), answers.commit
        drift: list[Drift] = []
        ci: JsonObject = {**known, "protection": digest(list(answers.required))[:16]}
        drift += _protection(known, ci, answers.required)
        before = entries(known.get("checks")) if known.get("commit") == commit else {}
        told = False
        if commit:
            shown = self._shown(answers.checks)
            states: JsonObject = {**self._wanted(), **{
                name: check.state.value for name, check in shown.items()}}
            ci |= {"commit": commit, "checks": states, "remote": answers.remote}
            new = [check for name, check in shown.items()
                   if ended((check,)) and before.get(name) != check.state.value]
            told = bool(new) or not states.keys() <= {*before, *self._wanted()}
            if new:
                drift.append(Drift("ci", f"on {commit[:12]}, which you pushed:\n"
                                   f"{self.outside.told(new)}"))
            drift += self._moved(known, answers)
        fields: dict[str, JsonObject] = {"hosted_ci": ci}
        news: list[Drift] = []
        if answers.issue:
            fields["issue"], news = compared(entries(head.state.get("issue")), answers.issue,
                                             self.outside.redactor)
        outside = (told and LOGS not in self.trusted) or (
            bool(news) and ISSUE not in self.trusted)
        return Seen(fields, (*drift, *news), outside)

    def _wanted(self) -> dict[str, str]:
        """The checks that the contract wants, as long as nobody has said a word on them."""
        return {criterion.check.name: State.NONE.value
                for criterion in self.contract.success_criteria
                if isinstance(criterion.check, HostedCheck)}

    def _shown(self, words: tuple[Check, ...]) -> dict[str, Check]:
        """The checks that the state names, wanted ones first."""
        wanted = self._wanted()
        first = sorted(words, key=lambda check: check.name not in wanted)
        return {self.outside.label(check): check for check in first[:_SHOWN]}

    def _moved(self, known: JsonObject, answers: _Answers) -> Iterator[Drift]:
        """That somebody else has moved the run's branch on the forge."""
        if answers.remote not in (answers.commit, known.get("remote")):
            yield Drift("remote", f"{self.outside.branch} on the forge is at {answers.remote}; this"
                        f" run pushed {answers.commit}")


def _protection(known: JsonObject, now: JsonObject, required: tuple[str, ...]) -> Iterator[Drift]:
    if known.get("protection") not in (None, now["protection"]):
        yield Drift("protection", "the base branch requires these checks now: "
                    + (", ".join(required) or "none"))
