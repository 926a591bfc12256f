"""The eyes: sources that we believe over the model. They look and change nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.authorities.ci import LocalCI
from controller.authorities.constraints import Constraints
from controller.authorities.git import Git
from controller.authorities.runtime import Runtime
from controller.core.action import Commit, Edit, EffectClass
from controller.core.constraints import Broken
from controller.core.errors import WorldError
from controller.core.facts import Facts
from controller.core.head import Head
from controller.core.records import Candidate, Effect, Evidence, Outcome, Remains
from controller.core.verdict import Objection, Verdict, judged


@dataclass(frozen=True, slots=True)
class Authorities:
    """Git says what is there, CI says what holds, and the user's probes what happened elsewhere."""

    git: Git
    ci: LocalCI
    runtime: Runtime
    constraints: Constraints

    def observe(self, head: Head) -> Facts:
        facts, shell = self.git.observe(head), self.ci.shell
        return replace(facts, drift=shell.redactor.text(facts.drift), tier=shell.sandbox.tier)

    def baseline(self, facts: Facts) -> tuple[Evidence, ...]:
        return self.ci.check(facts.source.base, frozenset())

    def vet(self, candidate: Candidate, foresee: Callable[[Candidate], str]) -> Verdict:
        action, before = candidate.transition.action, candidate.tree
        found: list[Broken] = []
        if isinstance(action, Edit) and self.constraints.any:
            found += self.constraints.broken(foresee(candidate) or before, before)
        if isinstance(action, Commit):
            found += self.constraints.broken(before, "")
            found += () if found else self.ci.vet(before, candidate.base.state)
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
                return self.runtime.examine(effect)

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        criteria = self.ci.attest(effect, outcome)  # first: it takes time, and branches can move
        return (*self.git.attest(effect, outcome), *self.constraints.attest(effect, outcome),
                *criteria)
