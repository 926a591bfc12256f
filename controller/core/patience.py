"""What is done about a model call without a reply: wait, ask again, ask somebody else, give up.

Every decision is a value in the head, so a wait goes on through a restart, and the audit trail has
all of them.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from controller.core.canonical import digest
from controller.core.head import Aside, Asking, Head
from controller.core.miss import (
    AuthFailed,
    Broken,
    BudgetStop,
    Declined,
    Limit,
    Malformed,
    Miss,
    Overloaded,
    TimedOut,
    TooLarge,
    Truncated,
    Unknown,
    Unreachable,
    described,
)
from controller.core.routing import others
from controller.core.rules import Rules

MARGIN = timedelta(seconds=60)
"""A limit is asked about again so long after it is said to be over: clocks differ."""

_UNTOLD = timedelta(minutes=30)  # until a limit is asked about again whose end nobody has said
_COOL = timedelta(minutes=15)  # before a model that failed a few times is asked again
_FIRST, _MOST = 2.0, 300.0  # seconds before the next try, after one failure and after many
_UNCLEAR = 3  # tries, when nobody can tell what is wrong


def missed(head: Head, miss: Miss, rules: Rules, now: datetime) -> Asking:
    """How it stands with the models after a call of the model that was asked last."""
    asking, why = replace(head.asking, reserved=None), f"{described(miss.why)}: {miss.words[:200]}"
    match miss.why:
        case Limit(reset_at):
            until = min(max(reset_at or now + _UNTOLD, now) + MARGIN,
                        now + timedelta(seconds=rules.retry.longest_wait))
            waits = rules.routing.on_limit == "wait"
            since = None if reset_at else asking.since or now  # else it might never end
            return replace(_set_aside(asking, Aside(until, why), until if waits else None),
                           since=since)
        case AuthFailed() | BudgetStop() | Broken() | TooLarge():
            return _set_aside(asking, Aside(None, f"{why}{_remedy(miss)}"))
        case Unknown() if asking.misses + 1 >= _UNCLEAR:
            return _set_aside(asking, Aside(None, why))
        case (Overloaded() | Unreachable() | TimedOut() | Unknown()
              | Malformed() | Declined() | Truncated()):
            return _later(head, asking, miss, why, rules, now)


def answered(asking: Asking, model: str, now: datetime) -> Asking:
    """How it stands once a model has replied: whoever was set aside until a moment still is."""
    return Asking(model=model, aside={
        name: aside for name, aside in asking.aside.items()
        if aside.until is None or aside.until > now})


def afresh(asking: Asking) -> Asking:
    """How it stands for a controller that begins anew: the counts of failure begin anew as well,
    and who was set aside for good is asked again. A wait is still a wait.
    """
    waits = {name: aside for name, aside in asking.aside.items() if aside.until}
    return Asking(model=asking.model, until=asking.until, why=asking.why, aside=waits)


def _set_aside(asking: Asking, aside: Aside, until: datetime | None = None) -> Asking:
    return replace(asking, misses=0, since=None, until=until, why=aside.why,
                   aside={**asking.aside, asking.model: aside})


def _later(head: Head, asking: Asking, miss: Miss, why: str, rules: Rules,
           now: datetime) -> Asking:
    """Try again after a while, or somebody else at once when this one has failed a few times."""
    misses, since = asking.misses + 1, asking.since or now
    if misses >= rules.retry.tries and others(head, rules, now):
        return replace(asking, misses=0, since=since, until=None, why=why, aside={
            **asking.aside, asking.model: Aside(now + _COOL, why)})
    wanted = (miss.why.retry_after if isinstance(miss.why, Overloaded) else None) or 0.0
    if wanted > _MOST:  # as a limit: its end is known, and others can be asked meanwhile
        until = now + timedelta(seconds=min(wanted, rules.retry.longest_wait))
        return _set_aside(asking, Aside(until, why))
    until = now + timedelta(seconds=max(wanted, _backoff(head, misses)))
    return replace(asking, misses=misses, since=since, until=until, why=why)


def _backoff(head: Head, misses: int) -> float:
    """Seconds before the next try: twice as long each time, and between half and all of it, so that
    runs that failed together don't come back together.
    """
    longest = min(_MOST, _FIRST * float(1 << min(misses - 1, 10)))
    mark = digest({"run": head.run, "step": head.spent.steps, "misses": head.spent.misses})
    return longest * (0.5 + 0.5 * int(mark[:8], 16) / 0xFFFFFFFF)


def _remedy(miss: Miss) -> str:
    """What a person can do about it."""
    match miss.why:
        case AuthFailed():
            return "; log in, or set the key, then `oneshot resume`"
        case BudgetStop():
            return "; the account needs money, or another model"
        case TooLarge():
            return "; choose a model with a larger context, or shorten skill spec and contract"
        case _:
            return "; `oneshot models` shows what this machine has"
