"""The eyes: sources that we believe over the model. They look and change nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.authorities.constraints import Constraints
from controller.authorities.criteria import Criteria
from controller.authorities.git import Git
from controller.authorities.hosted import Hosted
from controller.authorities.issue import IssueFile
from controller.authorities.runtime import Runtime
from controller.core.action import Commit, Delivery, Edit, EffectClass
from controller.core.constraints import Broken
from controller.core.errors import WorldError
from controller.core.facts import Facts
from controller.core.head import Head
from controller.core.records import Candidate, Effect, Evidence, Outcome, Remains
from controller.core.verdict import Objection, Verdict, judged


@dataclass(frozen=True, slots=True)
class Authorities:
    """Git says what is there, CI says what holds, the forge and the user's probes what is so, and
    what has happened, elsewhere.
    """

    git: Git
    criteria: Criteria
    runtime: Runtime
    constraints: Constraints
    hosted: Hosted | None = None
    issue: IssueFile | None = None

    def observe(self, head: Head) -> Facts:
        """Git first, then the forge and the issue, then what runs elsewhere."""
        facts, shell = self.git.observe(head), self.criteria.ci.shell
        looks = [place.look(head) for place in (self.hosted, self.issue) if place]
        drift = [replace(item, text=shell.redactor.text(item.text))
                 for item in (*facts.drift, *(item for seen in looks for item in seen.drift))]
        fields = {name: value for seen in looks for name, value in seen.fields.items()}
        return replace(facts, drift=tuple(drift), exposed=any(seen.exposed for seen in looks),
                       tier=shell.sandbox.tier, seen={**fields, **self.runtime.look(head)})

    def baseline(self, facts: Facts) -> tuple[Evidence, ...]:
        return self.criteria.check(facts.source.base, frozenset())

    def vet(self, candidate: Candidate, foresee: Callable[[Candidate], str]) -> Verdict:
        action, before = candidate.transition.action, candidate.tree
        found: list[Broken] = []
        if isinstance(action, Edit) and self.constraints.any:
            found += self.constraints.broken(foresee(candidate) or before, before)
        if isinstance(action, Commit):
            found += self.constraints.broken(before, "")
            found += () if found else self.criteria.vet(before, candidate.base.state)
        return judged("constraints", (Objection("/action", str(item)) for item in found))

    def examine(self, effect: Effect) -> Remains:
        match effect.aim.effect_class:
            case EffectClass.PURE:
                return Remains(None, "it changes nothing")
            case EffectClass.WORKSPACE:
                try:
                    return self.git.examine(effect)
                except (WorldError, OSError) as fault:
                    return Remains(None, f"the worktree can't be read: {fault}")
            case EffectClass.EXTERNAL:
                delivers = isinstance(effect.candidate.transition.action, Delivery)
                return (self.hosted if delivers and self.hosted else self.runtime).examine(effect)

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        criteria = self.criteria.attest(effect, outcome)  # first: they take time
        return (*self.git.attest(effect, outcome), *self.constraints.attest(effect, outcome),
                *(self.hosted.attest(effect, outcome) if self.hosted else ()), *criteria)
