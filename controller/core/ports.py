"""What the loop needs from the world. Implementations live outside `core`; fakes in `testing`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from controller.core.aim import Aim
from controller.core.canonical import JsonObject
from controller.core.facts import Facts
from controller.core.head import (
    Asking,
    Head,
    Launch,
    Lease,
    Message,
    Owner,
    RunId,
    Stopped,
    Wish,
)
from controller.core.miss import Miss
from controller.core.records import (
    Call,
    Candidate,
    Effect,
    Evidence,
    Outcome,
    Prompt,
    Question,
    Remains,
    Reply,
    Step,
)
from controller.core.verdict import Verdict


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """The time, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Come back after so many seconds."""


class Model(Protocol):
    """One way to reach a model. Implementations live in `adapters`."""

    @property
    def name(self) -> str:
        """Adapter and model, for people."""

    def propose(self, prompt: Prompt) -> Reply | Miss:
        """Make one call in a fresh context: the reply, or why there is none.

        Nothing but the prompt reaches the model. Nothing is asked again: that is decided, and
        written down, elsewhere. Whatever a provider, a network or a program does is a Miss.
        """


@dataclass(frozen=True, slots=True)
class Missed:
    """A call without a reply, as it is recorded: how it stands with the models then, what is done
    about it in words, what it cost (None: nobody knows), when it began, how many bytes were sent,
    until when nobody is asked.
    """

    miss: Miss
    asking: Asking
    reason: str
    usd: float | None
    begun: datetime
    sent: int
    until: datetime | None


class Executor(Protocol):
    """The only code that changes anything outside the store."""

    def perform(self, effect: Effect) -> Outcome:
        """Do it once. An action that can't be performed is an Outcome, never an exception."""

    def foresee(self, candidate: Candidate) -> str:
        """The tree that a candidate would make of the worktree, without making it.

        Empty when it can't be told beforehand.
        """

    def undo(self, effect: Effect, outcome: Outcome) -> Outcome:
        """Bring the worktree back to what it was before an effect: the outcome, as it is then."""

    def set_aside(self, candidate: Candidate) -> str:
        """Keep what a candidate would make of the worktree, without making it: where it is kept.

        Empty when it can't be told beforehand. A person looks at it; it may be done again.
        """

    def resume(self, effect: Effect, remains: Remains) -> Outcome:
        """Bring an effect that was found open to an end, by the rule of its effect class.

        The status is UNKNOWN when the world can't say whether it happened.
        """


class Authority(Protocol):
    """A source we believe over the model."""

    def observe(self, head: Head) -> Facts:
        """What is so now, and what somebody else changed since `head`. Changes nothing."""

    def baseline(self, facts: Facts) -> tuple[Evidence, ...]:
        """Look at every criterion on the untouched base."""

    def vet(self, candidate: Candidate, foresee: Callable[[Candidate], str]) -> Verdict:
        """Judge what a candidate would make of the worktree, as far as `foresee` can tell: the
        typed constraints of the contract, and before a Git commit the commands that must pass.
        Read-only.
        """

    def examine(self, effect: Effect) -> Remains:
        """Look at what is left of an effect that was begun and not settled. Read-only."""

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """Look at what an effect was to bring about, and at the criteria when it is a finish.

        Read-only, so it may be asked again after a crash.
        """


class Store(Protocol):
    """The durable record, as the loop writes it. Every method is one transaction.

    Each write takes the lease and raises LeaseLost when its token is not the newest, StaleHead when
    the head has moved. Either nothing is written or all of it.
    """

    @property
    def inbox(self) -> "Inbox":
        """What people have left for the runs."""

    def create(self, launch: Launch, head: Head, baseline: tuple[Evidence, ...],
               origin: JsonObject | None = None) -> None:
        """Record a new run at version 0. Raises StateError when its id is taken.

        `origin` says of a fork which run and step it comes from.
        """

    def lease(self, run: RunId, owner: Owner, now: datetime) -> AbstractContextManager[Lease]:
        """Hold the run against every other controller. Raises LeaseLost naming the holder."""

    def renew(self, lease: Lease, now: datetime) -> None:
        """Hold the run for longer. Raises LeaseLost when somebody else has taken it over."""

    def head(self, run: RunId) -> Head:
        """The last committed point. Raises StateError for an unknown run."""

    def open_effect(self, run: RunId) -> Effect | None:
        """The effect begun and not yet settled, if a crash left one."""

    def begin(self, lease: Lease, candidate: Candidate, aim: Aim, facts: Facts,
              call: Call | None, closing: Effect | None = None) -> Effect:
        """Journal the intent to act, with the call that asked for it; None: the controller's own.
        The only maker of effects. One that was open makes room for it when it is `closing`.
        """

    def find(self, lease: Lease, effect: Effect, remains: Remains, now: datetime) -> Remains:
        """Record what is left of an open effect, before anything is done about it.

        A person who has said whether it happened is believed where the world can't tell.
        """

    def refuse(self, lease: Lease, head: Head, verdicts: tuple[Verdict, ...], call: Call,
               now: datetime) -> Head:
        """Record the refusal as the next observation; the model's state does not move."""

    def park(self, lease: Lease, candidate: Candidate, verdicts: tuple[Verdict, ...],
             call: Call, question: Question, now: datetime) -> Head:
        """Put the candidate in the confirmation queue, and stop the run if the question stops it.
        A grant that is stale is asked again.
        """

    def doubt(self, lease: Lease, effect: Effect, outcome: Outcome, state: JsonObject,
              now: datetime) -> Head:
        """Stop the run because nobody can say whether the effect happened; it stays open. `state`
        says what it was to bring about.
        """

    def commit(self, lease: Lease, step: Step, now: datetime) -> Head:
        """Advance the head by one."""

    def reserve(self, lease: Lease, asking: Asking, why: str, now: datetime) -> None:
        """Record who is asked and what the call may cost at the worst, before it is made; `why`
        when it is somebody else than last time. What the call brings settles it.
        """

    def miss(self, lease: Lease, missed: Missed, now: datetime) -> Head:
        """Record that a model did not answer, what it cost and until when nobody is asked. Version
        and state stay as they are.
        """

    def again(self, lease: Lease, now: datetime) -> Head:
        """What a controller begins with: a call that nobody knows the end of counts at its worst,
        and models that were set aside for good may be asked again.
        """

    def stop(self, lease: Lease, stopped: Stopped | None, now: datetime) -> Head:
        """Let the run stand still, or (None) go on after it stood still."""


class Inbox(Protocol):
    """The durable record, as people have written to it. Every method is one transaction; those that
    take the lease raise LeaseLost as the Store's do.
    """

    def contract(self, run: RunId) -> int:
        """The newest version of the run's contract. Raises Damaged when one is not signed."""

    def wish(self, run: RunId) -> Wish:
        """What the user wants of whoever is at work."""

    def grant_wish(self, lease: Lease) -> None:
        """Forget what he wanted: it is done, or nobody was there to hear it."""

    def amendments(self, run: RunId, since: int) -> str:
        """What the user has changed in the contract after a version, in words."""

    def attend(self, lease: Lease, now: datetime) -> Head:
        """Take in what people have answered since: what they declined is the next observation. An
        answer that is not signed, or too old, is recorded, and the question is open again.
        """

    def remind(self, lease: Lease, now: datetime) -> Head:
        """Ask again what was open for too long."""

    def granted(self, run: RunId) -> Call | None:
        """The call whose parked candidate a person has allowed, if there is one."""

    def messages(self, run: RunId, after: int) -> tuple[Message, ...]:
        """What the user said since the message `after`."""


class Mailbox(Protocol):
    """Where answers of people come in from elsewhere."""

    def collect(self, run: RunId) -> None:
        """Write what has come in into the record. An answer that is none is recorded as refused.

        Never raises for what is out of reach: nobody's network stops a run.
        """


class Trail(Protocol):
    """The durable record, as it is read. Never fed back into a prompt, but for `recall`."""

    def runs(self) -> tuple[RunId, ...]:
        """Every run, oldest first."""

    def launch(self, run: RunId) -> Launch:
        """What was fixed when the run started. Raises StateError for an unknown run."""

    def audit(self, run: RunId, after: int = 0) -> Iterator[JsonObject]:
        """Every record of the audit trail after number `after`, in order (schema `step`)."""

    def latest(self, run: RunId, count: int) -> tuple[JsonObject, ...]:
        """The last records of the audit trail, oldest first."""

    def artifact(self, digest: str) -> bytes | None:
        """The bytes kept under a digest, or under the only one that begins so (8 characters on)."""

    def item(self, run: RunId, id: str) -> str:
        """What the contract says under an id, whole; empty when it has none of it."""

    def confirmations(self, run: RunId) -> tuple[JsonObject, ...]:
        """Every question to a person: id, kind, status, action, reasons, asked."""

    def holder(self, run: RunId) -> Owner | None:
        """Who holds the run's lease now."""


Alive: TypeAlias = Callable[[Owner], bool | None]
"""Whether the process that holds a lease is still at work; None when that can't be told."""
