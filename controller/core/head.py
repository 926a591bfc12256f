"""A run and its head: what is durable between two steps, and all that `status` needs to read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NewType

from controller.core.canonical import JsonObject

RunId = NewType("RunId", str)


class Stop(Enum):
    """Why a run stands still. A run that may go on has none."""

    FINISHED = "finished"  # every criterion is proved
    WAITING = "waiting"  # for a person
    LIMIT = "limit"  # the budget is spent
    STUCK = "stuck"  # no progress, or the model gave up
    ABORTED = "aborted"  # a person has ended it
    MOVED = "moved"  # it goes on elsewhere, from an exported bundle


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the run stands still, in one sentence for a person."""

    why: Stop
    reason: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used so far. Tokens and `usd` sum what is known; `unpriced` counts the calls
    whose price is not. `misses`: calls that brought no reply; `lost`: those that nobody knows the
    end of, counted at their worst.
    """

    steps: int = 0
    refusals_in_a_row: int = 0
    input: int = 0  # uncached
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    usd: float = 0.0
    unpriced: int = 0
    misses: int = 0
    lost: int = 0

    @property
    def taken(self) -> int:
        """Tokens of prompts, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.taken + self.output


@dataclass(frozen=True, slots=True)
class Reserved:
    """What one call may cost at the worst."""

    input: int = 0
    output: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Aside:
    """A model that is not asked `until` then, or (None) not again before somebody resumes."""

    until: datetime | None
    why: str


@dataclass(frozen=True, slots=True)
class Asking:
    """How it stands with the models. `model` was asked last, and has failed `misses` times on end;
    `since`: for so long nobody has answered; nobody is asked before `until`. `reserved` is there
    while a call is under way.
    """

    model: str = ""
    misses: int = 0
    since: datetime | None = None
    until: datetime | None = None
    why: str = ""
    aside: Mapping[str, Aside] = field(default_factory=dict)
    reserved: Reserved | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A step as it is looked at for progress: digests of what was done with its result, of the
    worktree, of what is known (Σ and evidence) and of the tests that fail; empty: it ran none.
    """

    what: str
    tree: str
    known: str
    failures: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """The last committed point of a run; every step starts from one."""

    run: RunId
    version: int
    state: JsonObject
    observation: str  # what the last step came to
    before: str = ""  # what a step that did not commit had been shown, so that nothing is lost
    spent: Spent = Spent()
    heard: int = 0  # id of the last user message that an observation showed
    extras: str = ""  # as a Snapshot has it, beside the tree that the state names
    stopped: Stopped | None = None
    exposed: bool = False  # text that nobody vouches for was shown since the user last spoke
    contract: int = 1  # version of the contract that it is under
    marks: JsonObject = field(default_factory=dict)  # of entries of the state: `ages` (version in
    # which each was set last), `sources` (the tree in which a fact's place was seen)
    schema: str = ""  # digest of the state schema that it was migrated to; empty: the launch's
    asking: Asking = Asking()
    turns: tuple[Turn, ...] = ()  # the last ones, oldest first


class Wish(Enum):
    """What the user wants of the controller that is at work on a run."""

    NONE = ""
    PAUSE = "pause"  # stand still after this step, and stay
    STOP = "stop"  # end after this step


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease: enough to tell whether he is still alive."""

    host: str
    pid: int
    mark: str  # boot and start time, so that another process of the same number is another

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to step a run. `token` grows with each; a write with an old one is refused.

    `worktree` is its number: a holder that may still be alive keeps his, and another is made.
    """

    run: RunId
    token: int
    worktree: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """Something the user said while the run was going."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Launch:
    """What is fixed when a run starts."""

    run: RunId
    goal: str
    base: str
    at: datetime
    documents: JsonObject = field(default_factory=dict)  # contract, policy, config as read
    folder: str = ""  # of the worktree, in the cache; empty: named like the run
