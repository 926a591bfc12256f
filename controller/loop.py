"""The algorithm. `step` is the transaction: it advances the head by one, or not at all.

observe → render → propose → admit → begin → perform → attest → settle → commit
"""

from dataclasses import replace

from controller.asking import POLL, ask, resting
from controller.core import drift
from controller.core.action import EffectClass
from controller.core.aim import Aim, aim
from controller.core.approval import bound, differs
from controller.core.budget import exhausted, may_go_on
from controller.core.canonical import JsonObject
from controller.core.errors import MachineFault, Refused, WorldError
from controller.core.facts import Facts
from controller.core.gates import admit
from controller.core.head import Head, Lease, Stop, Wish
from controller.core.parse import parse
from controller.core.projection import adopt
from controller.core.question import CROWDED, asked, crowded, readdressed
from controller.core.records import Call, Candidate, Effect, Outcome, Status, Transition
from controller.core.review import reviewed
from controller.core.settle import desired, settle, undoes
from controller.core.turns import after_refusal
from controller.core.verdict import Decision, Objection, Verdict, judged, worst
from controller.parts import Controller


def run(ctl: Controller, lease: Lease, steps: int | None = None) -> Head:
    """Step until the run finishes, waits for a person, is stuck, or has spent its budget.

    `steps` ends this call after so many steps, with the run free to go on. So does a new version of
    the contract: the caller makes a controller for it and comes back.
    """
    head = _answered(ctl, lease, recover(ctl, lease))
    last = None if steps is None else head.spent.steps + steps
    while (head.stopped is None and head.spent.steps != last and current(ctl, lease)
           and wanted(ctl, lease)):
        spent = exhausted(head, ctl.rules, _seconds(ctl), ctl.clock.now())
        head = ctl.store.stop(lease, spent, ctl.clock.now()) if spent else step(ctl, lease)
        head = _answered(ctl, lease, head)
    return head


def current(ctl: Controller, lease: Lease) -> bool:
    """Whether the contract is still the one that this controller was made for."""
    return ctl.store.inbox.contract(lease.run) == ctl.rules.contract.version


def step(ctl: Controller, lease: Lease) -> Head:
    """Make one fresh model call and commit what came of it.

    Anything before `begin` may be thrown away and done again; whatever follows it is brought to
    an end by `recover` should we die here.
    """
    ctl.mailbox.collect(lease.run)
    head = ctl.store.inbox.attend(lease, ctl.clock.now())
    granted = None if head.stopped else ctl.store.inbox.granted(lease.run)
    rested = head if head.stopped else None if granted else resting(ctl, lease, head)
    if rested:
        return rested
    facts = ctl.authority.observe(head)
    due = _due(ctl, head, facts)
    if due:
        return own(ctl, lease, adopt(head, facts, ()), facts, due)
    heard = () if granted else ctl.store.inbox.messages(head.run, head.heard)
    shown = reviewed(adopt(head, facts, heard), facts, ctl.rules)
    call = readdressed(granted, shown) if granted else ask(ctl, lease, shown)
    return call if isinstance(call, Head) else act(ctl, lease, shown, call)


def act(ctl: Controller, lease: Lease, shown: Head, call: Call) -> Head:
    """Judge what a call asks for, do it, and commit what came of it."""
    facts = ctl.authority.observe(shown)  # the world may have moved while the model thought
    try:
        candidate, verdicts = judge(ctl, call, shown, facts)
    except Refused as refusal:
        return _refused(ctl, lease, shown, refusal.verdicts, call)
    stale = differs(call.bound, bound(candidate, facts, ctl.rules)) if call.bound else "not asked"
    if worst(verdicts) is Decision.CONFIRM and stale:
        if crowded(shown):
            full = judged("intent", [Objection("/action", CROWDED)])
            # No turn is counted: that people are asleep is no sign of standing still.
            return ctl.store.refuse(lease, shown, (*verdicts, full), call, ctl.clock.now())
        question = asked(candidate, verdicts, facts, ctl.rules,
                         ctl.executor.set_aside(candidate), stale if call.grant else "")
        return ctl.store.park(lease, candidate, verdicts, call, question, ctl.clock.now())

    effect = ctl.store.begin(lease, candidate, _aim(ctl, candidate, facts), facts, call)
    return conclude(ctl, lease, effect, _performed(ctl, lease, effect))


def wanted(ctl: Controller, lease: Lease) -> bool:
    """Whether the user wants the run to go on now; a pause of his is waited for."""
    while ctl.store.inbox.wish(lease.run) is Wish.PAUSE and not ctl.ending():
        ctl.clock.sleep(POLL)
    return not ctl.ending() and ctl.store.inbox.wish(lease.run) is not Wish.STOP


def judge(ctl: Controller, call: Call, shown: Head,
          facts: Facts) -> tuple[Candidate, tuple[Verdict, ...]]:
    """The candidate with what the gates say of it, and what the authorities say of what it would
    make of the worktree. Raises Refused.
    """
    candidate, verdicts = admit(call, shown, facts, ctl.rules)
    vetted = ctl.authority.vet(candidate, ctl.executor.foresee)
    if vetted.decision is Decision.REFUSE:
        raise Refused((*verdicts, vetted))
    return candidate, (*verdicts, vetted)


def recover(ctl: Controller, lease: Lease) -> Head:
    """Conclude the effect a dead process left open, and let a run that stood still go on."""
    head = ctl.store.again(lease, ctl.clock.now())
    if head.stopped and head.stopped.why is Stop.MOVED:
        return head  # whatever is open is concluded where the run goes on
    effect = ctl.store.open_effect(lease.run)
    if effect is not None:
        return conclude(ctl, lease, effect, _resumed(ctl, lease, effect))
    if may_go_on(head, ctl.rules, _seconds(ctl), ctl.clock.now()):
        return ctl.store.stop(lease, None, ctl.clock.now())
    return ctl.store.inbox.remind(lease, ctl.clock.now())


def conclude(ctl: Controller, lease: Lease, effect: Effect, outcome: Outcome) -> Head:
    """Weigh the evidence and commit, whether the effect ran just now or before a crash."""
    if outcome.status is Status.UNKNOWN:
        state = desired(effect.candidate.base.state, effect, outcome.status, ctl.rules)
        return ctl.store.doubt(lease, effect, outcome, state, ctl.clock.now())
    evidence = ctl.authority.attest(effect, outcome)
    if undoes(effect, evidence):
        outcome = ctl.executor.undo(effect, outcome)
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


def _performed(ctl: Controller, lease: Lease, effect: Effect) -> Outcome:
    """Do it; where something elsewhere may have happened although no answer came, that is looked at
    before anything is done again.
    """
    try:
        return ctl.executor.perform(effect)
    except MachineFault:
        raise
    except WorldError:
        if effect.aim.effect_class is not EffectClass.EXTERNAL:
            raise
        return _resumed(ctl, lease, effect)


def _resumed(ctl: Controller, lease: Lease, effect: Effect) -> Outcome:
    seen = ctl.store.find(lease, effect, ctl.authority.examine(effect), ctl.clock.now())
    return ctl.executor.resume(effect, seen)


def _aim(ctl: Controller, candidate: Candidate, facts: Facts) -> Aim:
    return aim(candidate.transition.action, facts.source, ctl.rules.policy)


def _refused(ctl: Controller, lease: Lease, shown: Head, verdicts: tuple[Verdict, ...],
             call: Call) -> Head:
    turns = after_refusal(shown, verdicts, ctl.rules)
    return ctl.store.refuse(lease, replace(shown, turns=turns), verdicts, call, ctl.clock.now())


def _due(ctl: Controller, head: Head, facts: Facts) -> JsonObject | None:
    """What the controller has to do itself before a model is asked."""
    drifted = drift.due(facts.drift, ctl.rules.drift)  # first: any step takes over what is seen
    if drifted:
        return drifted
    if facts.moved:
        return {"kind": "adopt", "commit": facts.moved}
    version = ctl.rules.contract.version
    if head.contract < version:
        return {"kind": "amend", "version": version,
                "text": ctl.store.inbox.amendments(head.run, head.contract)}
    return None


def _answered(ctl: Controller, lease: Lease, head: Head) -> Head:
    """The head of a run that waits for a person, with his answer if it has come; in the mode `wait`
    that is waited for.
    """
    approvals, since = ctl.rules.approvals, ctl.clock.now()
    seconds = approvals.wait if approvals.mode == "wait" else 0
    while head.stopped and head.stopped.why is Stop.WAITING:
        ctl.mailbox.collect(lease.run)
        head = ctl.store.head(lease.run)
        if ((ctl.clock.now() - since).total_seconds() >= seconds or ctl.ending()
                or ctl.store.inbox.wish(lease.run) is Wish.STOP):
            break
        ctl.clock.sleep(POLL)
    return head


def _seconds(ctl: Controller) -> float:
    return (ctl.clock.now() - ctl.launch.at).total_seconds()
