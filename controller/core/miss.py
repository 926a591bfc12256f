"""What a model call came to when no transition came of it: one type, and a reason for each kind.

A reason is told from exit codes, structured fields and our own validation, never from a word like
`success` alone; what nobody can tell is `Unknown`, which is tried a few times and then stops.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from controller.core.records import Usage


class Timer(Enum):
    """Which of our clocks ran out."""

    FIRST = "first byte"
    IDLE = "idle"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Limit:
    """A usage limit of an account or plan; `reset_at` None: the provider did not say until when."""

    reset_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The provider can't serve us now. `retry_after`: seconds that it wants us to wait."""

    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No connection, one that broke, or an answer that is none of the API's."""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """One of our clocks ran out."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class AuthFailed:
    """No login, a wrong key, or no right to it."""


@dataclass(frozen=True, slots=True)
class Declined:
    """The model, or a filter before it, will not answer this."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """The answer was cut off at its greatest length."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """An answer came that is not one transition; `why` is told to the model."""

    why: str


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The prompt is larger than this model takes. It is never sent again as it is."""


@dataclass(frozen=True, slots=True)
class BudgetStop:
    """The account has no money left, or a budget of the interface's own is used up."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The interface does not work as we call it: a bug, another version, a setting, not there."""

    version: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell."""


Why: TypeAlias = (Limit | Overloaded | Unreachable | TimedOut | AuthFailed | Declined | Truncated
                  | Malformed | TooLarge | BudgetStop | Broken | Unknown)


@dataclass(frozen=True, slots=True)
class Miss:
    """A model call without a transition: `words` are the provider's or program's own.

    `billed`: a request may have to be paid for; `usage` is what is known of it. `body` is what did
    come of an answer.
    """

    why: Why
    words: str
    billed: bool = False
    usage: Usage = field(default_factory=Usage)
    body: bytes = b""

    @property
    def kind(self) -> str:
        """The name of its reason, for the record."""
        return type(self.why).__name__


_TOLD = {
    Declined: "you declined to answer; answer with the JSON object, or finish with the result "
              "impossible and say why",
    Truncated: "your answer was cut off: it is too long; send a shorter one",
}


def correction(miss: Miss) -> str:
    """What the model is told of its own answer; empty where the answer is not to blame.

    >>> correction(Miss(Overloaded(), "busy"))
    ''
    """
    match miss.why:
        case Malformed(why):
            return why
        case Declined() | Truncated() as why:
            return _TOLD[type(why)]
        case (Limit() | Overloaded() | Unreachable() | TimedOut() | AuthFailed() | TooLarge()
              | BudgetStop() | Broken() | Unknown()):
            return ""


def described(why: Why) -> str:
    """A reason in a few words for a person.

    >>> described(TimedOut(Timer.IDLE))
    'timed out (idle)'
    """
    match why:
        case Limit(reset_at):
            return "usage limit" + (f" until {reset_at:%Y-%m-%d %H:%M} UTC" if reset_at else "")
        case Overloaded(seconds):
            return "overloaded" + (f", wants {seconds:g} s" if seconds else "")
        case TimedOut(timer):
            return f"timed out ({timer.value})"
        case Malformed(wrong):
            return f"no transition: {wrong}"
        case Broken(version):
            return "the interface does not work" + (f" ({version})" if version else "")
        case (Unreachable() | AuthFailed() | Declined() | Truncated() | TooLarge() | BudgetStop()
              | Unknown()):
            return _WORDS[type(why)]


_WORDS: dict[type[Why], str] = {
    Unreachable: "unreachable", AuthFailed: "not logged in", Declined: "the model declined",
    Truncated: "the answer was cut off", TooLarge: "the prompt is too large",
    BudgetStop: "the account has no money left", Unknown: "nobody can tell why"}
