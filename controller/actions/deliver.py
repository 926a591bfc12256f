"""What is seen on a forge: a push, a pull request, a comment; and waiting for its checks."""

from datetime import timedelta

from controller.actions.workplace import CannotPerform, Workplace
from controller.core.action import Delivery, Wait, identity
from controller.core.hosted import State
from controller.core.policy import LOGS
from controller.core.records import Effect, Outcome, Status
from controller.forge.outside import ended, last_words, pushed
from controller.forge.remote import Rejected
from controller.web import Unreachable

_FIRST, _LONGEST = 15.0, 60.0  # seconds between two looks


def deliver(place: Workplace, effect: Effect, action: Delivery) -> Outcome:
    """Bring it to the forge. Raises CannotPerform when the forge does not take it, Unreachable when
    it can't be told whether it did: then it may have happened.
    """
    if place.outside is None:
        raise CannotPerform("config.yaml names no forge")
    place.fence()
    try:
        there = place.outside.write(effect, action)
    except Rejected as why:
        raise CannotPerform(str(why)) from None
    except Unreachable as why:
        if why.status is not None and 400 <= why.status < 500 and why.until is None:
            raise CannotPerform(f"the forge does not take it: {why}") from None
        raise
    return Outcome(Status.DONE, f"{identity(action)}: {there}", effect.source, summary=there)


def wait(place: Workplace, effect: Effect, action: Wait) -> Outcome:
    """Let time pass, counted from when the effect was begun: a restart does not begin it anew."""
    until, asked = effect.begun + timedelta(seconds=action.seconds), place.outside
    commit = pushed(effect.candidate.base.state)
    said, between = f"{action.seconds} seconds have passed.", _FIRST
    before: tuple[tuple[str, State], ...] = ()
    since = effect.begun
    while (now := place.clock.now()) < until:
        rest = (until - now).total_seconds()
        if action.checks and asked and commit:
            try:
                words = last_words(asked.forge.checks(commit), commit)
            except Unreachable as why:
                said = f"The forge can't be asked: {why}"
                between = max(between, why.rest(now.timestamp()))
            else:
                marks = tuple((check.id, check.state) for check in words)
                since = since if marks == before and marks else now
                before = marks
                said = f"The checks of {commit}:\n{asked.told(words) or 'none yet'}"
                if words and ended(words) and (
                        now - since).total_seconds() >= asked.config.settle:
                    break
            rest, between = min(rest, between), min(max(between, _FIRST) * 2, _LONGEST)
        place.clock.sleep(rest)
    outside = action.checks and LOGS not in place.shell.policy.trusted
    return Outcome(Status.DONE, said, effect.source, exposed=outside,
                   summary=f"waited at step {effect.candidate.base.spent.steps}")
