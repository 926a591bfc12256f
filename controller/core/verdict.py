"""What gates answer: a decision and every objection behind it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from controller.core.redact import Redactor, redact

_MOST = 20  # objections of one gate that are told


class Decision(IntEnum):
    """Ordered by severity, so that the worst of several is their maximum."""

    ALLOW = 0
    CONFIRM = 1
    REFUSE = 2


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing wrong: where (a JSON Pointer into the reply, RFC 6901) and what to do about it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, slots=True)
class Verdict:
    """One gate's decision about one candidate, with its objections."""

    gate: str
    decision: Decision
    objections: tuple[Objection, ...] = ()

    def __str__(self) -> str:
        return f"{self.gate}: {'; '.join(map(str, self.objections)) or self.decision.name.lower()}"


def cleaned(verdicts: Iterable[Verdict], redactor: Redactor) -> tuple[Verdict, ...]:
    """The verdicts as they may be recorded and shown."""
    return tuple(Verdict(verdict.gate, verdict.decision, tuple(
        Objection(redactor.text(o.path), redactor.text(o.message)) for o in verdict.objections))
        for verdict in verdicts)


def judged(gate: str, objections: Iterable[Objection],
           decision: Decision = Decision.REFUSE) -> Verdict:
    """The verdict of `gate`: ALLOW without objections, else `decision` with all of them.

    Beyond the first 20 they are counted. None repeats a secret of the reply.
    """
    found = [Objection(redact(o.path), redact(o.message)) for o in objections]
    if len(found) > _MOST:
        found[_MOST:] = [Objection("", f"and {len(found) - _MOST} more like these")]
    return Verdict(gate, decision if found else Decision.ALLOW, tuple(found))


def worst(verdicts: Iterable[Verdict]) -> Decision:
    """The decision that binds: one refusal outweighs any number of allows.

    >>> worst([])
    <Decision.ALLOW: 0>
    >>> worst([Verdict("intent", Decision.CONFIRM), Verdict("freshness", Decision.ALLOW)])
    <Decision.CONFIRM: 1>
    """
    return max((verdict.decision for verdict in verdicts), default=Decision.ALLOW)
