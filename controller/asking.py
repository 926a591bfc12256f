"""The propose phase: one fresh call of the model whose turn it is, paid for before it is made.

reserve → propose → a Call, which what follows settles; or a miss, which is written down with what
is done about it. A wait is a moment in the head: it goes on through a restart, and is no step.
"""

from dataclasses import replace

from controller.core.budget import beyond, ends
from controller.core.errors import ModelUnavailable, ModelUnusable
from controller.core.head import Aside, Asking, Head, Lease, Stop, Stopped
from controller.core.miss import Miss, correction, described
from controller.core.patience import missed
from controller.core.ports import Missed
from controller.core.prices import cost, price_of, worst
from controller.core.prompt import render
from controller.core.records import Call, Prompt, Reply
from controller.core.routing import Chosen, Nobody, Rest, choose
from controller.parts import Controller

POLL = 5.0
"""Seconds between two looks at whether a wait is over: a person may have answered, or have enough.
"""


def resting(ctl: Controller, lease: Lease, head: Head) -> Head | None:
    """The head after a part of a wait for the models; None: somebody can be asked now.

    A wait that the run's time is too short for is none: the run stops at once.
    """
    choice, now = choose(head, ctl.rules, ctl.clock.now()), ctl.clock.now()
    if not isinstance(choice, Rest):
        return None
    end = ends(ctl.rules, ctl.launch.at)
    if end and choice.until >= end:
        return ctl.store.stop(lease, Stopped(
            Stop.LIMIT, f"no model can be asked before {choice.until:%Y-%m-%d %H:%M %Z} "
            f"({choice.why}), and the run's time ends before that"), now)
    ctl.clock.sleep(min(POLL, (choice.until - now).total_seconds()))
    return ctl.store.head(lease.run)


def ask(ctl: Controller, lease: Lease, shown: Head) -> Call | Head:
    """The call that the model whose turn it is has answered; the head when none has, or none fits
    into the budget.

    Raises ModelUnavailable and ModelUnusable when nobody is left to be asked.
    """
    chosen = _chosen(ctl, shown)
    if chosen is None:
        return ctl.store.head(lease.run)
    prompt, config = render(ctl.rules, shown), ctl.rules.models[chosen.model]
    reserved = worst(prompt, config, ctl.rules)
    over = beyond(shown, reserved, ctl.rules)
    if over:
        return ctl.store.stop(lease, over, ctl.clock.now())
    before, begun = shown.asking, ctl.clock.now()
    same = before.model == chosen.model
    asking = Asking(chosen.model, before.misses if same else 0, before.since, None, before.why,
                    before.aside, reserved)
    ctl.store.reserve(lease, asking, chosen.why, begun)
    said = ctl.models[chosen.model].propose(prompt)
    usd = cost(said.usage, price_of(config, ctl.rules))
    call = call_of(prompt, said, chosen.model, usd, ctl)
    return call or _missed(ctl, lease, said, usd)


def call_of(prompt: Prompt, said: Reply | Miss, model: str, usd: float | None,
            ctl: Controller) -> Call | None:
    """What was said as a call. An answer that is no transition is one, for the gates to refuse."""
    if isinstance(said, Miss):
        if not correction(said):
            return None
        said = Reply(said.body, said.usage, correction(said))
    return Call(prompt, said, ctl.clock.now(), model=model, usd=usd)


def once(ctl: Controller, head: Head) -> Call:
    """One call without a record, for a look at what would be proposed. Raises as `ask` does."""
    chosen, prompt = _chosen(ctl, head), render(ctl.rules, head)
    name = chosen.model if chosen else ctl.rules.routing.order[0]
    said = ctl.models[name].propose(prompt)
    usd = cost(said.usage, price_of(ctl.rules.models[name], ctl.rules))
    call = call_of(prompt, said, name, usd, ctl)
    if call is None:
        assert isinstance(said, Miss)
        raise _fault(Asking(name), said, ctl)
    return call


def _chosen(ctl: Controller, head: Head) -> Chosen | None:
    match choose(head, ctl.rules, ctl.clock.now()):
        case Chosen() as chosen:
            return chosen
        case Rest():
            return None
        case Nobody(why, temporary):
            raise (ModelUnavailable if temporary else ModelUnusable)(why)


def _missed(ctl: Controller, lease: Lease, said: Reply | Miss, usd: float | None) -> Head:
    """Write a call without a reply down, with what is done about it."""
    assert isinstance(said, Miss)
    now, head = ctl.clock.now(), ctl.store.head(lease.run)
    asking = missed(head, said, ctl.rules, now)
    after = choose(replace(head, asking=asking), ctl.rules, now)
    match after:
        case Chosen(model):
            then, until = f"{model} is asked next", None
        case Rest(moment, _):
            then, until = f"asked again at {moment:%H:%M:%S %Z}", moment
        case Nobody():
            then, until = "nobody is left to be asked", None
    reason = f"{head.asking.model}: {described(said.why)}; {then}"
    return ctl.store.miss(lease, Missed(said, asking, reason, usd, now, until), now)


def _fault(asking: Asking, said: Miss, ctl: Controller) -> ModelUnavailable | ModelUnusable:
    head = Head(ctl.launch.run, 0, {}, "", asking=asking)
    after = missed(head, said, ctl.rules, ctl.clock.now())
    aside = after.aside.get(asking.model, Aside(ctl.clock.now(), ""))
    words = f"{asking.model}: {described(said.why)}: {said.words}"
    return ModelUnavailable(words) if aside.until else ModelUnusable(aside.why)
