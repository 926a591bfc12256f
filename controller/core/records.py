"""The values of a step. Each has one name and one maker, and each new level of trust a new type.

    Head → Prompt → Reply → Transition → Candidate → Effect → Outcome → Evidence → Step → Head
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NewType

from controller.core.action import Action
from controller.core.aim import Aim
from controller.core.canonical import JsonObject, digest
from controller.core.facts import Source
from controller.core.head import Head, Reserved, RunId, Stopped, Turn
from controller.core.results import Results
from controller.core.tier import Tier

EffectId = NewType("EffectId", str)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call, or a whole run, cost. None is *unknown*, which is not 0.

    `input` counts uncached tokens only; `usd` is the price the backend named.
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The one self-contained request of a step. What changes least comes first, so that it can be
    cached.
    """

    run: RunId
    version: int
    step: int  # how many calls the run had made before this one
    tree: str  # of the worktree, when it was rendered
    skill: str  # P: the same in every run under it
    contract: str  # I, with the schemas: the same all through a run
    volatile: str  # Σ and O
    schema: JsonObject  # of the transition that is asked for

    @property
    def stable(self) -> str:
        """P and I."""
        return self.skill + self.contract

    @property
    def text(self) -> str:
        """Everything the model is shown, in order."""
        return self.stable + self.volatile


@dataclass(frozen=True, slots=True)
class Reply:
    """The bytes that came back, with their cost; nothing in them is believed.

    `fault` says why there is not one answer in what came back.
    """

    body: bytes
    usage: Usage = Usage()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """What the model asks for: change the state thus, then act thus. Not believed."""

    expected_version: int
    patch: JsonObject
    action: Action
    document: JsonObject  # as it was sent, without the reasoning


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transition laid over the head it was made for. This is what gates judge."""

    base: Head
    transition: Transition
    state: JsonObject  # base.state ⊕ what the patch comes to
    tree: str  # of the worktree that the reply was made for
    laid: JsonObject = field(default_factory=dict)  # what it comes to, as a plain merge patch
    evicted: JsonObject = field(default_factory=dict)  # what had to make way, by field


@dataclass(frozen=True, slots=True)
class Effect:
    """An admitted action, journalled before it is performed. `id` is its idempotency key."""

    id: EffectId
    candidate: Candidate
    aim: Aim
    source: Source  # before: its snapshot is the pre-snapshot
    begun: datetime
    token: int  # fencing token of the lease it was begun under
    paths: tuple[str, ...] = ()  # the files it is about
    grant: str | None = None  # the confirmation that allowed it


@dataclass(frozen=True, slots=True)
class Remains:
    """What can be seen of an effect that was begun and not settled, before anything is done.

    `happened` is None when the world can't say.
    """

    happened: bool | None
    text: str


class Status(Enum):
    """How performing an effect ended."""

    DONE = "done"
    FAILED = "failed"  # the controller could not perform it
    UNKNOWN = "unknown"  # the world can't say whether it happened


@dataclass(frozen=True, slots=True)
class Outcome:
    """How performing ended and what was seen: `text` for the model, `output` for the record."""

    status: Status
    text: str
    source: Source  # after
    summary: str = ""
    output: bytes = b""
    agreed: str = ""  # tree as an allowed edit left it, before its check could change it
    stopped: Stopped | None = None
    tier: Tier | None = None  # of the sandbox that its command got
    exposed: bool = False  # it shows text from outside that nobody vouches for


POSTCONDITION = "postcondition:"
"""How the subject of evidence begins that is about an effect; no criterion's id has a colon."""


PUSHED, OPENED, COMMENTED = (POSTCONDITION + what for what in ("pushed", "pull_request", "comment"))
"""The postconditions of what is delivered to a forge; the detail of the others is an address."""


class Finding(Enum):
    """What an authority says about one criterion or postcondition."""

    VERIFIED = "verified"
    FAILING = "failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Measured:
    """How a check was made, so that anybody could make it again.

    `key` is of what was asked and under which policy: under another one the evidence is stale.
    `protected`: of the files that were the base's although the Git commit has others.
    """

    key: str
    commit: str
    policy: str = ""
    protected: str = ""
    begun: datetime | None = None
    exit: int | None = None
    results: Results | None = None  # of each test, when there was a report
    coverage: float | None = None  # share of lines, 0 to 1
    held: int = 1  # in how many of its `runs` it held
    runs: int = 1
    canary: str = ""  # what became of the test that we add
    tools: Mapping[str, str] = field(default_factory=dict)  # program -> version


@dataclass(frozen=True, slots=True)
class Evidence:
    """An authority's answer about one subject, bound to the tree it was looked at in."""

    subject: str  # a criterion's id, or POSTCONDITION and what was to be so
    finding: Finding
    authority: str
    source: str  # what was asked: a command line, a ref
    tree: str
    at: datetime
    detail: str
    output: bytes = b""
    tier: Tier | None = None  # of the sandbox that its command got
    measured: Measured | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """What an answer of a person is bound to: digests of what was asked about and of the rules, the
    version of the head and the tree of the worktree.
    """

    subject: str
    version: int
    tree: str
    policy: str


@dataclass(frozen=True, slots=True)
class Question:
    """Something that only a person can answer, within `expires` seconds. `stops`: the run waits.

    `kind` is action, criterion, question, change, conflict or unknown; `body` is what else the
    record keeps of it, `again` why it is asked once more.
    """

    kind: str
    summary: str
    binding: Binding
    expires: int
    stops: bool
    body: JsonObject
    again: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One settled turn of the loop, ready to be committed."""

    effect: Effect
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    state: JsonObject  # the state the evidence justifies
    observation: str
    before: str  # as Head has it
    stopped: Stopped | None = None
    heard: int | None = None  # as Head has it; None: as before
    question: Question | None = None  # that the model asks a person
    marks: JsonObject = field(default_factory=dict)  # as Head has them
    evicted: JsonObject = field(default_factory=dict)  # what left the state
    turns: tuple[Turn, ...] = ()  # as Head has them


@dataclass(frozen=True, slots=True)
class Call:
    """One model call as it is kept: the exact bytes sent and received, with their cost.

    `model` is the name, in the configuration, of who was asked, `usd` what it cost (None: nobody
    knows), `reserved` what was set aside for it. `grant` names the confirmation by which a person
    allowed what the reply asks for, as it was `bound`; such a call was made and paid for in an
    earlier step.
    """

    prompt: Prompt
    reply: Reply
    at: datetime
    grant: str | None = None
    bound: Binding | None = None
    model: str = ""
    usd: float | None = None
    reserved: Reserved = field(default_factory=Reserved)


def effect_id(run: RunId, version: int, transition: Transition) -> EffectId:
    """The idempotency key: derived, so that doing the same thing again gives the same key."""
    return EffectId(digest({"run": run, "version": version,
                            "action": transition.document["action"]})[:20])
