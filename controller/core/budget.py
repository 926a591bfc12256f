"""What a run may spend, and when it is going nowhere."""

from dataclasses import replace
from datetime import datetime

from controller.core.contract import Contract
from controller.core.head import Head, Spent, Stop, Stopped
from controller.core.records import Usage
from controller.core.rules import Rules

REPEATS = 3
"""The same action with the same result so often in a row is no progress."""


def charged(spent: Spent, usage: Usage) -> Spent:
    """`spent` after one more model call. What a backend did not say is counted, not guessed."""
    known = (usage.input, usage.cache_read, usage.cache_write, usage.output)
    return replace(
        spent, steps=spent.steps + 1,
        tokens=spent.tokens + sum(number or 0 for number in known),
        usd=spent.usd + (usage.usd or 0.0),
        unpriced=spent.unpriced + (usage.usd is None))


def refused(spent: Spent) -> Spent:
    """`spent` after a refusal."""
    return replace(spent, refusals_in_a_row=spent.refusals_in_a_row + 1)


def performed(spent: Spent, mark: str) -> Spent:
    """`spent` after an effect; `mark` stands for the action, its result and the tree."""
    repeats = spent.repeats + 1 if mark == spent.last else 1
    return replace(spent, refusals_in_a_row=0, last=mark, repeats=repeats)


def rested(spent: Spent) -> Spent:
    """`spent` when a person lets a stuck run go on: the counts of failure begin anew."""
    return replace(spent, refusals_in_a_row=0, last="", repeats=0)


def may_go_on(head: Head, rules: Rules, seconds: float, now: datetime) -> bool:
    """Whether a run that stands still at a limit, or stuck, has something left to go on with."""
    if head.stopped is None or head.stopped.why not in (Stop.LIMIT, Stop.STUCK):
        return False
    return exhausted(replace(head, spent=rested(head.spent)), rules, seconds, now) is None


def exhausted(head: Head, rules: Rules, seconds: float, now: datetime) -> Stopped | None:
    """Why a run must stop `seconds` after it began, before its next step; None: it may go on."""
    spent, limits = head.spent, rules.limits
    if spent.repeats >= REPEATS:
        return Stopped(Stop.STUCK, f"the same action gave the same result {spent.repeats} times")
    if spent.refusals_in_a_row >= limits.refusals_in_a_row:
        return Stopped(Stop.STUCK, f"{spent.refusals_in_a_row} replies in a row were refused")
    if limits.steps is not None and spent.steps >= limits.steps:
        return Stopped(Stop.LIMIT, f"{spent.steps} of {limits.steps} steps are used")
    if limits.usd is not None and spent.usd >= limits.usd:
        return Stopped(Stop.LIMIT, f"${spent.usd:.2f} of ${limits.usd:.2f} are used")
    if limits.seconds is not None and seconds >= limits.seconds:
        return Stopped(Stop.LIMIT, f"{seconds:.0f} of {limits.seconds} seconds are used")
    return _constrained(spent, rules.contract, now)


def _constrained(spent: Spent, contract: Contract, now: datetime) -> Stopped | None:
    """What the contract itself says about time and money."""
    for item in contract.constraints:
        if item.deadline and now >= item.deadline:
            return Stopped(Stop.LIMIT, f"{item.id}: the deadline {item.deadline} is over")
        if item.max_usd is not None and spent.usd >= item.max_usd:
            return Stopped(Stop.LIMIT, f"{item.id}: ${spent.usd:.2f} of ${item.max_usd:.2f} are "
                           "used")
    return None
