"""What the checks of a forge say of one Git commit, and which of them count.

None yet is not green, and neither is a check of another app, another commit or an older attempt.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from controller.core.canonical import JsonObject, entries
from controller.core.contract import HostedCheck
from controller.core.records import Finding


class State(Enum):
    """How it stands with one check of a forge."""

    NONE = "none"  # not reported yet, or never
    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    NEUTRAL = "neutral"
    STALE = "stale"
    TIMED_OUT = "timed_out"
    ACTION_REQUIRED = "action_required"  # a person has to do something there


OPEN = frozenset({State.NONE, State.QUEUED, State.RUNNING})
"""What is not the last word."""

OWN, ANY = "own", "any"
"""Who reports a check: the forge's own CI (GitHub: Actions), or anybody. Else the id of an app."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check as a forge reports it, of the Git commit that it is about. `app`: who reports it;
    empty for a commit status. `order` grows with each attempt within its `group` (at GitHub a check
    suite); `log` is where its log can be had.
    """

    name: str
    state: State
    commit: str
    app: str = ""
    order: str = ""
    group: str = ""
    url: str = ""
    log: str = ""


_WORST = (State.FAILURE, State.TIMED_OUT, State.CANCELLED, State.ACTION_REQUIRED, State.STALE,
          State.NONE, State.QUEUED, State.RUNNING, State.SKIPPED, State.NEUTRAL, State.SUCCESS)


def last_words(checks: Iterable[Check], commit: str) -> tuple[Check, ...]:
    """The newest attempt of every check of a Git commit, by name and app; of several groups that
    have one of that name, the worst.
    """
    newest: dict[tuple[str, str, str], Check] = {}
    for check in sorted(checks, key=lambda check: check.order):
        if check.commit == commit:
            newest[check.name, check.app, check.group] = check
    found: dict[tuple[str, str], Check] = {}
    for check in newest.values():
        known = found.setdefault((check.name, check.app), check)
        found[check.name, check.app] = min(known, check, key=lambda one: _WORST.index(one.state))
    return tuple(found[at] for at in sorted(found))


def last_word(wanted: HostedCheck, checks: Iterable[Check], commit: str) -> Check:
    """The last word on a wanted check about a Git commit, or that there is none."""
    found = [check for check in last_words(checks, commit)
             if check.name == wanted.name and wanted.app in (ANY, check.app)]
    return min(found, key=lambda one: _WORST.index(one.state),
               default=Check(wanted.name, State.NONE, commit, wanted.app))


def ended(checks: Iterable[Check]) -> bool:
    """Whether none of them has a word left to say."""
    return all(check.state not in OPEN for check in checks)


def pushed(state: JsonObject) -> str:
    """The Git commit that a state says was pushed; empty when none was."""
    return str(entries(state.get("delivery")).get("pushed") or "")


def judge(wanted: HostedCheck, check: Check) -> tuple[Finding, str]:
    """What a check comes to as a criterion, and why in a sentence."""
    said = f"{check.name} on {check.commit[:12]}: {check.state.value}"
    if check.url:
        said += f" ({check.url})"
    if check.state.value in wanted.accept:
        return Finding.VERIFIED, said
    if check.state is State.NONE:
        return Finding.UNKNOWN, f"{said}: nothing is reported yet, which is not green"
    if check.state in OPEN:
        return Finding.UNKNOWN, f"{said}; `wait` for it"
    return Finding.FAILING, said
