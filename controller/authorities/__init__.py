"""The eyes: sources that we believe over the model. They look and change nothing."""

from dataclasses import dataclass

from controller.authorities.ci import LocalCI
from controller.authorities.git import Git
from controller.core.head import Head
from controller.core.records import Effect, Evidence, Facts, Outcome


@dataclass(frozen=True, slots=True)
class Authorities:
    """Git says what is there, CI says what holds."""

    git: Git
    ci: LocalCI

    def observe(self, head: Head) -> Facts:
        return self.git.observe(head)

    def baseline(self, facts: Facts) -> tuple[Evidence, ...]:
        return self.ci.check(facts.source.base, frozenset())

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        criteria = self.ci.attest(effect, outcome)  # first: it takes time, and branches can move
        return (*self.git.attest(effect, outcome), *criteria)
