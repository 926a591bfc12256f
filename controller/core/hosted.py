"""What the checks of a forge say of one Git commit, and which of them count.

None yet is not green, and neither is a check of another app, another commit or an older attempt.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

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
    empty for a commit status. `order` grows with each attempt; `log` is where its log can be had.
    """

    name: str
    state: State
    commit: str
    app: str = ""
    order: str = ""
    id: str = ""
    url: str = ""
    log: str = ""


def newest(wanted: HostedCheck, checks: Iterable[Check], commit: str) -> Check:
    """The last word on a wanted check about a Git commit, or that there is none."""
    found = [check for check in checks if check.name == wanted.name and check.commit == commit
             and wanted.app in (ANY, check.app)]
    return max(found, key=lambda check: (check.order, check.id),
               default=Check(wanted.name, State.NONE, commit, wanted.app))


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
