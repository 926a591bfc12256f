"""Judging gate: what is seen on a forge, and who has to agree to it."""

from collections.abc import Iterator

from controller.core.action import Action, Comment, PullRequest, Push
from controller.core.delivery import COMMENT, PULL_REQUEST, PUSH
from controller.core.facts import Facts
from controller.core.gates.action_policy import EXPOSED, orders
from controller.core.records import Candidate
from controller.core.rules import Rules
from controller.core.tier import Tier
from controller.core.verdict import Decision, Objection, Verdict, judged


def delivery(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse what could not be brought to the forge; ask about what the user has not granted."""
    refused = list(_undeliverable(candidate.transition.action, facts, rules))
    if refused:
        return judged("delivery", refused)
    return judged("delivery", _delivered(candidate, facts, rules), Decision.CONFIRM)


def _undeliverable(action: Action, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """What can't be brought to a forge, because there is none or nothing to bring."""
    if not isinstance(action, Push | PullRequest | Comment):
        return
    forge = rules.forge
    if forge is None or (forge.kind == "command" and not isinstance(action, Push)):
        yield Objection("/action", "config.yaml names no forge that could take this")
        return
    if isinstance(action, Push) and facts.source.head == facts.source.base:
        yield Objection("/action", "there is nothing to push: `commit` first")
    if isinstance(action, Comment) and action.on == "issue" and forge.issue is None:
        yield Objection("/action/on", "config.yaml names no issue (forge.issue)")
    if isinstance(action, PullRequest):
        yield from orders(f"{action.title}\n{action.body}", "/action")


def _delivered(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """What is seen on the forge. The user's grant is his word, as the action policy has it."""
    action = candidate.transition.action
    kind = {Push: PUSH, PullRequest: PULL_REQUEST, Comment: COMMENT}.get(type(action))
    if kind is None:
        return
    if kind not in rules.policy.granted:
        what = f"{facts.source.branch} at {facts.source.head[:12]}"
        where = rules.forge.repo or rules.forge.remote if rules.forge else ""
        yield Objection("/action", f"{what} for {where}: a person must agree to each "
                        f"{kind.replace('_', ' ')} (policy.yaml: forge.{kind})")
    elif candidate.base.exposed:
        yield Objection("/action", EXPOSED)
    elif facts.tier not in (None, Tier.BUBBLEWRAP):
        yield Objection("/action", f"in sandbox tier {facts.tier} nothing outside is granted "
                        "beforehand; a person must agree first")
