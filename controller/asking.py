"""The propose phase: one fresh call of the model whose turn it is, paid for before it is made.

reserve → propose → a Call, which what follows settles; or a miss, which is written down with what
is done about it. A wait is a moment in the head: it goes on through a restart, and is no step.
"""

from dataclasses import replace
from datetime import datetime

from controller.core.budget import beyond, ends
from controller.core.errors import ModelUnavailable, ModelUnusable
from controller.core.head import Aside, Asking, Head, Lease, Reserved, Stop, Stopped
from controller.core.miss import Miss, TimedOut, Unreachable, correction, described
from controller.core.observation import one_line
from controller.core.patience import missed
from controller.core.ports import Missed
from controller.core.prices import cost, price_of, worst
from controller.core.prompt import render
from controller.core.records import Call, Prompt, Reply, Usage
from controller.core.routing import Chosen, Nobody, Rest, choose
from controller.parts import Controller

POLL = 5.0
"""Seconds between two looks at whether a wait is over: a person may have answered, or have enough.
"""


def resting(ctl: Controller, lease: Lease, head: Head) -> Head | None:
    """The head after a part of a wait for the models; None: somebody can be asked now.

    A wait that the run's time is too short for is none: the run stops at once.
    """
    now = ctl.clock.now()
    choice = choose(head, ctl.rules, now)
    if not isinstance(choice, Rest):
        return None
    end = ends(ctl.rules, ctl.launch.at)
    if end and choice.until >= end:
        return ctl.store.stop(lease, Stopped(
            Stop.LIMIT, f"no model can be asked before {choice.until:%Y-%m-%d %H:%M %Z} "
            f"({choice.why}), and the run's time ends before that"), now)
    ctl.clock.sleep(max(0.0, min(POLL, (choice.until - now).total_seconds())))
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
    if isinstance(said, Miss) and not correction(said):
        return _missed(ctl, lease, _cut(said), begun, prompt)
    return _call(ctl, prompt, said, asking)


def _call(ctl: Controller, prompt: Prompt, said: Reply | Miss, asking: Asking) -> Call:
    """What was said as a call. An answer that is no transition is one, for the gates to refuse."""
    if isinstance(said, Miss):
        said = Reply(said.body, said.usage, correction(said))
    return Call(prompt, said, ctl.clock.now(), model=asking.model,
                usd=_cost(ctl, asking.model, said.usage), reserved=asking.reserved or Reserved())


def _cost(ctl: Controller, model: str, usage: Usage) -> float | None:
    return cost(usage, price_of(ctl.rules.models[model], ctl.rules))


def _cut(said: Miss) -> Miss:
    """A miss without what it says of the answer's length, where that was cut off: it may be billed
    for all of it.
    """
    if isinstance(said.why, Unreachable | TimedOut):
        return replace(said, usage=replace(said.usage, output=None))
    return said


def once(ctl: Controller, head: Head) -> Call:
    """One call without a record, for a look at what would be proposed. Raises as `ask` does."""
    chosen, prompt = _chosen(ctl, head), render(ctl.rules, head)
    name = chosen.model if chosen else ctl.rules.routing.order[0]
    said = ctl.models[name].propose(prompt)
    if isinstance(said, Miss) and not correction(said):
        raise _fault(Asking(name), said, ctl)
    return _call(ctl, prompt, said, Asking(name))


def _chosen(ctl: Controller, head: Head) -> Chosen | None:
    match choose(head, ctl.rules, ctl.clock.now()):
        case Chosen() as chosen:
            return chosen
        case Rest():
            return None
        case Nobody(why, temporary):
            raise (ModelUnavailable if temporary else ModelUnusable)(why)


def _missed(ctl: Controller, lease: Lease, said: Miss, begun: datetime, prompt: Prompt) -> Head:
    """Write a call without a reply down, with what is done about it."""
    now, head = ctl.clock.now(), ctl.store.head(lease.run)
    said = replace(said, words=ctl.rules.redactor.text(said.words))
    asking = missed(head, said, ctl.rules, now)
    until = None
    match choose(replace(head, asking=asking), ctl.rules, now):
        case Chosen(model):
            then = f"{model} is asked next"
        case Rest(moment, _):
            then, until = f"nobody is asked before {moment:%H:%M:%S %Z}", moment
        case Nobody():
            then = "nobody is left to be asked"
    usd = _cost(ctl, head.asking.model, said.usage)
    return ctl.store.miss(lease, Missed(
        said, asking, f"{head.asking.model}: {_told(said)}; {then}", usd, begun,
        len(prompt.text.encode()), until), now)


def _told(said: Miss) -> str:
    """Why there is no reply, with the provider's own words."""
    words = one_line(said.words, 120)
    return f"{described(said.why)} ({words})" if words else described(said.why)


def _fault(asking: Asking, said: Miss, ctl: Controller) -> ModelUnavailable | ModelUnusable:
    head = Head(ctl.launch.run, 0, {}, "", asking=asking)
    after = missed(head, said, ctl.rules, ctl.clock.now())
    aside = after.aside.get(asking.model, Aside(ctl.clock.now(), ""))
    words = f"{asking.model}: {described(said.why)}: {said.words}"
    return ModelUnavailable(words) if aside.until else ModelUnusable(aside.why)
