"""What a person is asked: about a candidate that waits, or by the model itself."""

from dataclasses import replace

from controller.core.action import Action, Ask, ChangeRequest, Finish, identity
from controller.core.amending import value_of
from controller.core.approval import bound
from controller.core.canonical import JsonObject, JsonValue, digest, entries
from controller.core.facts import Facts
from controller.core.head import Head
from controller.core.observation import first_line
from controller.core.projection import MOST_WAITING, tree_of
from controller.core.records import Binding, Call, Candidate, Effect, Question
from controller.core.rules import Rules
from controller.core.verdict import Verdict

CROWDED = f"{MOST_WAITING} questions wait for a person already; do other work until he has answered"
"""What is said instead of one more question. Σ shows no more than so many."""

CONTINUE = "continue"
"""The mode in which the model does other work while a person is to answer."""


def asked(candidate: Candidate, verdicts: tuple[Verdict, ...], facts: Facts, rules: Rules,
          kept: str, again: str) -> Question:
    """The question whether a candidate may be done. `kept`: where what it would make is kept;
    `again`: why an answer that was given counts no more. Then the run waits in any mode: the next
    answer is to find it where it is.
    """
    reasons = [str(objection) for verdict in verdicts for objection in verdict.objections]
    action = candidate.transition.action
    document = candidate.transition.document["action"]
    return Question(
        "criterion" if isinstance(action, Finish) else "action",
        _summary("; ".join([identity(action), *reasons[:1]] if isinstance(action, Finish)
                           else [identity(action)])),
        bound(candidate, facts, rules), rules.approvals.expires,
        bool(again) or rules.approvals.mode != CONTINUE,
        {"action": document, "kept": kept, "reasons": list[JsonValue](reasons)}, again)


def of_model(effect: Effect, rules: Rules) -> Question | None:
    """The question that an action of the model's puts before a person, if it is one that does.

    A change of the contract is bound to the contract alone: it is good wherever the run is by then.
    """
    action, candidate = effect.candidate.transition.action, effect.candidate
    document = candidate.transition.document["action"]
    body: JsonObject = {"action": document}
    if isinstance(action, ChangeRequest):
        binding = Binding(digest(document), rules.contract.version, "", rules.mark)
        return Question("change", _summary(f"{identity(action)}: {action.reason}"), binding,
                        rules.approvals.expires, _stops(rules), {**body, "change": {
                            "op": action.change, "target": action.item,
                            "value": value_of(action.value)}})
    if isinstance(action, Ask):
        binding = Binding(digest(document), candidate.base.version, "", "")
        return Question("question", action.question, binding, rules.approvals.expires,
                        _stops(rules), body)
    return None


def readdressed(call: Call, shown: Head) -> Call:
    """A call that a person has allowed, for the head as it is now: whether his answer still counts
    is decided by what it was bound to.
    """
    return replace(call, prompt=replace(call.prompt, version=shown.version,
                                        tree=tree_of(shown.state)))


def crowded(head: Head) -> bool:
    """Whether so much waits for a person that nothing more is to be asked."""
    return len(entries(head.state.get("waiting"))) >= MOST_WAITING


def waits(action: Action) -> bool:
    """Whether the action is there to ask a person."""
    return isinstance(action, Ask | ChangeRequest)


def _summary(text: str) -> str:
    """A text in one line; what stands in further lines is told of."""
    return first_line(" ⏎ ".join(text.split("\n")))


def _stops(rules: Rules) -> bool:
    return rules.approvals.mode != CONTINUE
