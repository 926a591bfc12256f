"""The gates, in their order. Three build the next type and stop at the first fault; seven judge.

    Reply ─ envelope ─→ JSON object ─ schema ─→ Transition ─ patch ─→ Candidate
    Candidate ─ intent · freshness · invariants · action policy · delivery · integrity · sensitivity
                                                                                ─→ verdicts

All judging gates are asked, so that the model hears every objection at once.
"""

from collections.abc import Callable
from typing import TypeAlias

from controller.core.errors import Refused
from controller.core.facts import Facts
from controller.core.gates.action_policy import action_policy
from controller.core.gates.delivery import delivery
from controller.core.gates.envelope import envelope
from controller.core.gates.freshness import freshness
from controller.core.gates.integrity import integrity
from controller.core.gates.intent import intent
from controller.core.gates.invariants import invariants
from controller.core.gates.patch import patch
from controller.core.gates.schema import schema
from controller.core.gates.sensitivity import sensitivity
from controller.core.head import Head
from controller.core.records import Call, Candidate
from controller.core.rules import Rules
from controller.core.verdict import Decision, Verdict, cleaned, worst

JudgingGate: TypeAlias = Callable[[Candidate, Facts, Rules], Verdict]
"""One reason to say no. Pure: same candidate, same facts, same rules, same verdict."""

JUDGES: tuple[JudgingGate, ...] = (
    intent, freshness, invariants, action_policy, delivery, integrity, sensitivity)


def admit(call: Call, head: Head, facts: Facts,
          rules: Rules) -> tuple[Candidate, tuple[Verdict, ...]]:
    """Turn a call's untrusted reply into a candidate that may be acted on, with all verdicts.

    Raises Refused with all verdicts when one of them refuses. A CONFIRM is returned, for the
    caller to park.
    """
    try:
        transition = schema(envelope(call.reply, head, granted=bool(call.grant)), rules)
        candidate = patch(transition, head, call.prompt.tree, rules)
    except Refused as refusal:
        raise Refused(cleaned(refusal.verdicts, rules.redactor)) from None
    verdicts = cleaned((judge(candidate, facts, rules) for judge in JUDGES), rules.redactor)
    if worst(verdicts) is Decision.REFUSE:
        raise Refused(verdicts)
    return candidate, verdicts
