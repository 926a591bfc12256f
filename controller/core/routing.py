"""Who is asked next: by the phase of the work, by what was refused, by who can answer now."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from controller.core.canonical import entries, members
from controller.core.head import Head
from controller.core.progress import escalated
from controller.core.rules import Rules

PLAN, IMPLEMENT, REPAIR = "plan", "implement", "repair"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The model to ask, and why another one than last time."""

    model: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rest:
    """Nobody can be asked before then."""

    until: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Nobody:
    """Nobody can be asked. `temporary`: later it may work without anybody's help."""

    why: str
    temporary: bool


Choice: TypeAlias = Chosen | Rest | Nobody


def phase(head: Head) -> str:
    """What a run is at: nothing is planned yet, the last thing went wrong, or neither."""
    recent = members(head.state.get("recent"))
    last = str(entries(recent[-1]).get("result", "")) if recent else ""
    if head.spent.refusals_in_a_row or (last.startswith(_WRONG) and "exit 0" not in last):
        return REPAIR
    return IMPLEMENT if head.state.get("plan") else PLAN


_WRONG = ("exit ", "failed", "turned down", "timed out")
"""How a result begins that says of something wrong; `exit 0` does not."""


def choose(head: Head, rules: Rules, now: datetime) -> Choice:
    """Who is asked at `now` for a head."""
    asking, routing = head.asking, rules.routing
    outage = timedelta(seconds=rules.retry.outage)
    if asking.since and now - asking.since >= outage:
        return Nobody(f"for {_long(now - asking.since)} no model has answered ({asking.why})",
                      temporary=True)
    if asking.until and now < asking.until:
        return Rest(asking.until, asking.why)
    everybody, level = routing.for_phase(phase(head)), _level(head, rules)
    order = _from(everybody, routing.order, level)
    for name in order:
        if not _aside(head, name, now):
            return Chosen(name, _reason(head, order, name, level) if name != asking.model else "")
    return _none(head, everybody, now)


def _from(everybody: tuple[str, ...], order: tuple[str, ...], level: int) -> tuple[str, ...]:
    """Everybody, from the one on that is so many steps above the first: the order goes upwards."""
    first = everybody[0]
    if level and first in order:
        first = order[min(order.index(first) + level, len(order) - 1)]
    return tuple(dict.fromkeys((first, *everybody)))


def others(head: Head, rules: Rules, now: datetime) -> bool:
    """Whether somebody else than the model that was asked last can be asked now."""
    return any(name != head.asking.model and not _aside(head, name, now)
               for name in rules.routing.for_phase(phase(head)))


def _level(head: Head, rules: Rules) -> int:
    """How many steps up from the first: a stronger model is asked after refusals, or when it goes
    nowhere.
    """
    refused = head.spent.refusals_in_a_row // max(1, rules.routing.escalate_after)
    return max(refused, int(escalated(head.turns)))


def _aside(head: Head, name: str, now: datetime) -> bool:
    found = head.asking.aside.get(name)
    return found is not None and (found.until is None or now < found.until)


def _reason(head: Head, order: tuple[str, ...], name: str, level: int) -> str:
    passed = [f"{other}: {head.asking.aside[other].why}" for other in order[:order.index(name)]
              if other in head.asking.aside]
    if passed:
        return "; ".join(passed)
    if level:
        return f"{head.spent.refusals_in_a_row} refusals in a row, or no progress"
    return f"the run is to {phase(head)}" if head.asking.model else ""


def _none(head: Head, everybody: tuple[str, ...], now: datetime) -> Rest | Nobody:
    """Nobody can be asked now: until when, or that there is no use in waiting."""
    aside = {name: found for name, found in head.asking.aside.items() if name in everybody}
    ends = [found for found in aside.values() if found.until and found.until > now]
    if ends:
        soonest = min(ends, key=lambda found: found.until or now)
        return Rest(soonest.until or now, soonest.why)
    return Nobody("; ".join(f"{name}: {found.why}" for name, found in aside.items()),
                  temporary=False)


def _long(span: timedelta) -> str:
    seconds = span.total_seconds()
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"
