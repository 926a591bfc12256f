"""The algorithm. `step` is the transaction: it advances the head by one, or not at all.

observe → render → propose → admit → begin → perform → attest → settle → commit
"""

from dataclasses import dataclass

from controller.core.aim import Aim, aim
from controller.core.budget import exhausted, may_go_on
from controller.core.canonical import JsonObject
from controller.core.errors import ModelError, Refused
from controller.core.facts import Facts
from controller.core.gates import admit
from controller.core.head import Head, Launch, Lease, Stop
from controller.core.parse import parse
from controller.core.ports import Authority, Clock, Executor, Model, Store
from controller.core.projection import adopt
from controller.core.prompt import render
from controller.core.records import Call, Candidate, Effect, Outcome, Status, Transition
from controller.core.rules import Rules
from controller.core.settle import settle
from controller.core.verdict import Decision, Verdict, worst


@dataclass(frozen=True, slots=True)
class Controller:
    """One run with everything it needs from the world."""

    launch: Launch
    rules: Rules
    model: Model
    authority: Authority
    executor: Executor
    store: Store
    clock: Clock


def run(ctl: Controller, lease: Lease, steps: int | None = None) -> Head:
    """Step until the run finishes, waits for a person, is stuck, or has spent its budget.

    `steps` ends this call after so many steps, with the run free to go on.
    """
    head = recover(ctl, lease)
    last = None if steps is None else head.spent.steps + steps
    while head.stopped is None and head.spent.steps != last:
        spent = exhausted(head, ctl.rules.limits, _seconds(ctl))
        head = ctl.store.stop(lease, spent, ctl.clock.now()) if spent else step(ctl, lease)
    return head


def step(ctl: Controller, lease: Lease) -> Head:
    """Make one fresh model call and commit what came of it.

    Anything before `begin` may be thrown away and done again; whatever follows it is brought to
    an end by `recover` should we die here.
    """
    granted = ctl.store.granted(lease.run)
    head = ctl.store.head(lease.run)
    facts = ctl.authority.observe(head)
    if facts.moved:
        return own(ctl, lease, adopt(head, facts, ()), facts,
                   {"kind": "adopt", "commit": facts.moved})
    shown = adopt(head, facts, () if granted else ctl.store.messages(head.run, head.heard))
    call = granted or _propose(ctl, lease, shown)
    facts = ctl.authority.observe(shown)  # the world may have moved while the model thought
    try:
        candidate, verdicts = admit(call, shown, facts, ctl.rules)
    except Refused as refusal:
        return ctl.store.refuse(lease, shown, refusal.verdicts, call, ctl.clock.now())
    if worst(verdicts) is Decision.CONFIRM and call.grant is None:
        return ctl.store.park(lease, candidate, verdicts, call, ctl.executor.set_aside(candidate))

    effect = ctl.store.begin(lease, candidate, _aim(ctl, candidate, facts), facts, call)
    return conclude(ctl, lease, effect, ctl.executor.perform(effect))


def plan(ctl: Controller, head: Head) -> tuple[Call, tuple[Verdict, ...]]:
    """One fresh model call for `head` and what the gates say of it. Nothing is done or written."""
    shown = adopt(head, ctl.authority.observe(head), ctl.store.messages(head.run, head.heard))
    prompt = render(ctl.rules, shown)
    call = Call(prompt, ctl.model.propose(prompt), ctl.clock.now())
    try:
        return call, admit(call, shown, ctl.authority.observe(shown), ctl.rules)[1]
    except Refused as refusal:
        return call, refusal.verdicts


def recover(ctl: Controller, lease: Lease) -> Head:
    """Conclude the effect a dead process left open, and let a run that stood still go on."""
    head = ctl.store.head(lease.run)
    if head.stopped and head.stopped.why is Stop.MOVED:
        return head  # whatever is open is concluded where the run goes on
    effect = ctl.store.open_effect(lease.run)
    if effect is not None:
        seen = ctl.store.find(lease, effect, ctl.authority.examine(effect), ctl.clock.now())
        return conclude(ctl, lease, effect, ctl.executor.resume(effect, seen))
    if may_go_on(head, ctl.rules.limits, _seconds(ctl)):
        return ctl.store.stop(lease, None, ctl.clock.now())
    return head


def conclude(ctl: Controller, lease: Lease, effect: Effect, outcome: Outcome) -> Head:
    """Weigh the evidence and commit, whether the effect ran just now or before a crash."""
    if outcome.status is Status.UNKNOWN:
        return ctl.store.doubt(lease, effect, outcome, ctl.clock.now())
    evidence = ctl.authority.attest(effect, outcome)
    return ctl.store.commit(lease, settle(effect, outcome, evidence, ctl.rules), ctl.clock.now())


def own(ctl: Controller, lease: Lease, head: Head, facts: Facts, action: JsonObject,
        closing: Effect | None = None) -> Head:
    """A step of the controller's own, without a model: journalled and recovered like any other.

    An effect that is open makes room for it when it is `closing`.
    """
    document: JsonObject = {"expected_version": head.version, "state_patch": {}, "action": action}
    transition = Transition(head.version, {}, parse(action), document)
    candidate = Candidate(head, transition, head.state, facts.source.tree)
    effect = ctl.store.begin(lease, candidate, _aim(ctl, candidate, facts), facts, None, closing)
    return conclude(ctl, lease, effect, ctl.executor.perform(effect))


def _aim(ctl: Controller, candidate: Candidate, facts: Facts) -> Aim:
    return aim(candidate.transition.action, facts.source.branch, facts.source.tree,
               ctl.rules.policy)


def _propose(ctl: Controller, lease: Lease, shown: Head) -> Call:
    prompt = render(ctl.rules, shown)
    try:
        return Call(prompt, ctl.model.propose(prompt), ctl.clock.now())
    except ModelError as fault:
        ctl.store.miss(lease, str(fault), ctl.clock.now())
        raise


def _seconds(ctl: Controller) -> float:
    return (ctl.clock.now() - ctl.launch.at).total_seconds()
