"""What is seen on a forge: a push, a pull request, a comment; and waiting for its checks."""

from datetime import datetime, timedelta

from controller.actions.workplace import CannotPerform, Workplace
from controller.core.action import Delivery, Wait, identity
from controller.core.hosted import Check, ended, last_words, pushed
from controller.core.policy import LOGS
from controller.core.records import Effect, Outcome, Status
from controller.forge.outside import Outside
from controller.forge.remote import Rejected
from controller.web import Unreachable

_FIRST, _LONGEST = 15.0, 60.0  # seconds between two looks
_LOOK = 5.0  # seconds between two looks at whether somebody has had enough of a wait


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
    until, commit = effect.begun + timedelta(seconds=action.seconds), pushed(
        effect.candidate.base.state)
    outside = False
    if action.checks and place.outside and commit:
        text = _awaited(place, place.outside, commit, until)
        outside = LOGS not in place.shell.policy.trusted
    else:
        while (rest := (until - place.clock.now()).total_seconds()) > 0 and not place.enough():
            place.clock.sleep(min(rest, _LOOK))
        waited = round((place.clock.now() - effect.begun).total_seconds())
        text = f"{waited} seconds have passed."
    return Outcome(Status.DONE, text, effect.source, exposed=outside,
                   summary=f"waited at step {effect.candidate.base.spent.steps}")


def _awaited(place: Workplace, outside: Outside, commit: str, until: datetime) -> str:
    """What the checks of a Git commit say when each has said its last word, or the time is over."""
    between, before, since = _FIRST, tuple[Check, ...](), place.clock.now()
    while True:
        now, fault, words = place.clock.now(), "", before
        try:
            words = last_words(outside.forge.checks(commit), commit)
        except Unreachable as why:
            fault, between = f"The forge can't be asked: {why}\n", max(
                between, why.rest(now.timestamp()))
        since = since if words == before and words else now
        before = words
        settled = (now - since).total_seconds() >= outside.config.settle
        if now >= until or place.enough() or (words and ended(words) and settled and not fault):
            return f"{fault}The checks of {commit}:\n{outside.told(words) or 'none yet'}"
        place.clock.sleep(max(1.0, min(between, (until - now).total_seconds())))
        between = min(max(between, _FIRST) * 2, _LONGEST)
