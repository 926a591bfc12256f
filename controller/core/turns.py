"""Steps as they are looked at for progress: what was done, over which files, knowing what."""

import re

from controller.core.action import Finish, Own, Wait
from controller.core.canonical import JsonObject, JsonValue, digest, entries
from controller.core.head import Head, Turn
from controller.core.progress import failing, with_turn
from controller.core.projection import tree_of
from controller.core.records import POSTCONDITION, Effect, Evidence, Finding, Outcome
from controller.core.rules import MODEL, Rules
from controller.core.verdict import Verdict

_TIMES = re.compile(r"\b\d+(?:\.\d+)? ?m?s\b|\b\d\d:\d\d:\d\d\b")
"""What differs between two outputs that say the same."""


def after_refusal(head: Head, verdicts: tuple[Verdict, ...], rules: Rules) -> tuple[Turn, ...]:
    """The turns of a head whose reply was refused."""
    said: list[JsonValue] = [str(o) for verdict in verdicts for o in verdict.objections]
    turn = Turn(digest(said)[:12], tree_of(head.state)[:12], _known(head.state, rules),
                refused=True)
    return with_turn(head.turns, turn)


def after_effect(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...],
                 state: JsonObject, rules: Rules) -> tuple[Turn, ...]:
    """The turns of a run after an effect. What the controller does itself is none, nor is a wait.
    """
    base, action = effect.candidate.base, effect.candidate.transition.action
    if isinstance(action, Own | Wait):
        return base.turns
    document = effect.candidate.transition.document["action"]
    output = outcome.output.decode("utf-8", "replace")
    what = digest([document, outcome.summary, _TIMES.sub("", output), outcome.source.tree])[:12]
    failed = failing(output)
    if isinstance(action, Finish):
        open_ = [item.subject for item in evidence if item.finding is not Finding.VERIFIED
                 and not item.subject.startswith(POSTCONDITION)]
        failed = digest(list[JsonValue](sorted(open_)))[:12] if open_ else ""
    return with_turn(base.turns, Turn(what, outcome.source.tree[:12], _known(state, rules), failed))


def _known(state: JsonObject, rules: Rules) -> str:
    """A mark of what the model knows and of what is proved."""
    proved = {id: entries(item).get("finding") for id, item in entries(
        state.get("criteria")).items()}
    owned: JsonObject = {name: state.get(name) for name, owner in rules.owners.items()
                         if owner == MODEL}
    return digest({"state": owned, "proved": dict[str, JsonValue](proved)})[:12]
