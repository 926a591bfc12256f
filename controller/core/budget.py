"""What a run may spend, and when it is going nowhere."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from controller.core.contract import Contract
from controller.core.head import Head, Reserved, Spent, Stop, Stopped
from controller.core.progress import stuck
from controller.core.records import Call, Usage
from controller.core.rules import Rules

NEAR = 0.8
"""From this share of a limit on, people are told."""


def charged(spent: Spent, call: Call) -> Spent:
    """`spent` after one more step's call."""
    after = paid(spent, call.reply.usage, call.usd, call.reserved)
    return replace(after, steps=spent.steps + 1)


def paid(spent: Spent, usage: Usage, usd: float | None, reserved: Reserved) -> Spent:
    """`spent` after a call, whatever came of it. What nobody has said counts at its worst: a limit
    must hold where a backend is silent. A price that nobody knows is counted as one.
    """
    untold = usage.input is None and usage.cache_read is None and usage.cache_write is None
    known = usd if usd is not None else reserved.usd or None
    return replace(
        spent, input=spent.input + (reserved.input if untold else usage.input or 0),
        output=spent.output + (reserved.output if usage.output is None else usage.output),
        cache_read=spent.cache_read + (usage.cache_read or 0),
        cache_write=spent.cache_write + (usage.cache_write or 0),
        usd=spent.usd + (known or 0.0), unpriced=spent.unpriced + (known is None))


def unanswered(spent: Spent, usage: Usage, usd: float | None, reserved: Reserved, *,
               billed: bool) -> Spent:
    """`spent` after a call without a reply. One that nobody is charged for costs nothing."""
    after = paid(spent, usage, usd, reserved) if billed else spent
    return replace(after, misses=spent.misses + 1)


def lost(spent: Spent, reserved: Reserved) -> Spent:
    """`spent` after a call that nobody knows the end of: it counts at its worst."""
    return replace(paid(spent, Usage(), None, reserved), lost=spent.lost + 1)


def refused(spent: Spent) -> Spent:
    """`spent` after a refusal."""
    return replace(spent, refusals_in_a_row=spent.refusals_in_a_row + 1)


def performed(spent: Spent) -> Spent:
    """`spent` after an effect."""
    return replace(spent, refusals_in_a_row=0)


def rested(head: Head) -> Head:
    """The head when a person lets a stuck run go on: the counts of failure begin anew."""
    return replace(head, spent=replace(head.spent, refusals_in_a_row=0), turns=())


def may_go_on(head: Head, rules: Rules, seconds: float, now: datetime) -> bool:
    """Whether a run that stands still at a limit, or stuck, has something left to go on with."""
    if head.stopped is None or head.stopped.why not in (Stop.LIMIT, Stop.STUCK):
        return False
    return exhausted(rested(head), rules, seconds, now) is None


def exhausted(head: Head, rules: Rules, seconds: float, now: datetime) -> Stopped | None:
    """Why a run must stop `seconds` after it began, before its next step; None: it may go on."""
    why = stuck(head.turns, alone=len(rules.routing.everybody) < 2)
    if why:
        return Stopped(Stop.STUCK, why)
    if head.spent.refusals_in_a_row >= rules.limits.refusals_in_a_row:
        return Stopped(Stop.STUCK, f"{head.spent.refusals_in_a_row} replies in a row were refused")
    return _overspent(head.spent, rules, seconds) or _late(rules, now)


def ends(rules: Rules, began: datetime) -> datetime | None:
    """When a run's time is over that began then; None: never."""
    limits = rules.limits
    moments = [limits.until, *(item.deadline for item in rules.contract.constraints)]
    if limits.seconds is not None:
        moments.append(began + timedelta(seconds=limits.seconds))
    return min((moment for moment in moments if moment), default=None)


def beyond(head: Head, reserved: Reserved, rules: Rules) -> Stopped | None:
    """Why a call must not be made that may cost so much at the worst; None: it fits."""
    spent, limits = head.spent, rules.limits
    for name, used, more, most in (
        ("", spent.usd, reserved.usd, _least(limits.usd, *_caps(rules.contract))),
        ("input tokens", spent.taken, reserved.input, limits.input_tokens),
        ("output tokens", spent.output, reserved.output, limits.output_tokens),
    ):
        if most is not None and used + more > most:
            words = (f"{used:,.0f} of {most:,.0f} {name} are used, and the next call may take "
                     f"{more:,.0f}" if name else
                     f"${used:.2f} of ${most:.2f} are used, and the next call may cost ${more:.2f}")
            return Stopped(Stop.LIMIT, words)
    return None


def near(head: Head, rules: Rules, seconds: float) -> Iterator[tuple[str, str]]:
    """Every limit that is used up to NEAR and more: its name, and a sentence."""
    for name, used, most in _measures(head.spent, rules, seconds):
        if most and NEAR * most <= used < most:
            yield name, f"{used:,.6g} of {most:,.6g} {name} are used"


def _measures(spent: Spent, rules: Rules,
              seconds: float) -> tuple[tuple[str, float, float | None], ...]:
    limits = rules.limits
    return (("steps", spent.steps, limits.steps), ("usd", spent.usd, limits.usd),
            ("seconds", seconds, limits.seconds), ("input tokens", spent.taken,
                                                   limits.input_tokens),
            ("output tokens", spent.output, limits.output_tokens))


def _overspent(spent: Spent, rules: Rules, seconds: float) -> Stopped | None:
    for name, used, most in _measures(spent, rules, seconds):
        if most is not None and used >= most:
            words = (f"${used:.2f} of ${most:.2f} are used" if name == "usd" else
                     f"{used:.0f} of {most} {name} are used")
            return Stopped(Stop.LIMIT, words)
    for item in rules.contract.constraints:
        if item.max_usd is not None and spent.usd >= item.max_usd:
            return Stopped(Stop.LIMIT, f"{item.id}: ${spent.usd:.2f} of ${item.max_usd:.2f} are "
                           "used")
    return None


def _late(rules: Rules, now: datetime) -> Stopped | None:
    if rules.limits.until and now >= rules.limits.until:
        return Stopped(Stop.LIMIT, f"it is {rules.limits.until:%Y-%m-%d %H:%M %Z}, when it was to "
                       "end")
    for item in rules.contract.constraints:
        if item.deadline and now >= item.deadline:
            return Stopped(Stop.LIMIT, f"{item.id}: the deadline {item.deadline} is over")
    return None


def _caps(contract: Contract) -> Iterator[float | None]:
    return (item.max_usd for item in contract.constraints)


def _least(*numbers: float | None) -> float | None:
    return min((number for number in numbers if number is not None), default=None)
