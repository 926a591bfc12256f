"""Judging gate: was the reply made for the world as it is now?"""

from controller.core.action import Finish
from controller.core.facts import Facts
from controller.core.records import Candidate
from controller.core.rules import Rules
from controller.core.verdict import Objection, Verdict, judged


def freshness(candidate: Candidate, facts: Facts, _rules: Rules) -> Verdict:
    """Refuse a reply made for another tree, and a finish over work that is in no Git commit."""
    return judged("freshness", (*_moved(candidate, facts), *_unfinished(candidate, facts)))


def _moved(candidate: Candidate, facts: Facts) -> list[Objection]:
    if candidate.tree == facts.source.tree:
        return []
    return [Objection("/expected_version", "files in the worktree changed while you answered; "
                      "look at what changed and answer again")]


def _unfinished(candidate: Candidate, facts: Facts) -> list[Objection]:
    action = candidate.transition.action
    if not isinstance(action, Finish) or action.result != "done":
        return []
    if facts.source.dirty:
        return [Objection("/action", "the worktree differs from the last Git commit; `commit` "
                          "first, then finish: criteria are checked on the Git commit")]
    if facts.source.head == facts.source.base:
        return [Objection("/action", "nothing has been committed yet: no change proves nothing")]
    return []
