"""What the authorities said was so, at a moment: the worktree, the branch, what differs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controller.core.canonical import JsonObject
from controller.core.drift import Drift
from controller.core.tier import Tier


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The exact state of a worktree: a Git tree, and the id of what no Git tree can hold."""

    tree: str
    extras: str = ""  # empty when there is nothing of that kind


@dataclass(frozen=True, slots=True)
class Source:
    """What Git says about a run: commits by id, trees by id."""

    branch: str
    base: str  # Git commit the run started from
    head: str  # Git commit the run's branch is at
    head_tree: str
    tree: str  # exact tree of the worktree, untracked files included
    extras: str = ""  # as a Snapshot has it
    ahead: int = 0  # Git commits that the run has and its base has not
    behind: int = 0  # Git commits that the user's checkout has gained since the base
    changed: int = 0  # files that differ from the last Git commit of the run
    new: int = 0  # how many of them are new
    operation: str = ""  # a merge, rebase or the like that is under way in the user's checkout

    @property
    def snapshot(self) -> Snapshot:
        """The state of the worktree."""
        return Snapshot(self.tree, self.extras)

    @property
    def dirty(self) -> bool:
        """Whether the worktree differs from the last Git commit of the run."""
        return self.tree != self.head_tree


@dataclass(frozen=True, slots=True)
class Added:
    """A line that is new in a file: the file, its number there, its text, and for what a reply
    writes the place in the reply.
    """

    path: str
    number: int
    text: str
    where: str = "/action"


@dataclass(frozen=True, slots=True)
class Pending:
    """A file that differs between the run's last Git commit and the worktree. Modes are as git
    writes them; 000000: it is not there.
    """

    path: str
    before: str
    after: str

    @property
    def removed(self) -> bool:
        """Whether it is gone."""
        return self.after == "000000"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the authorities said was so, at a moment. `uncounted`: there are more added lines than
    were looked at.
    """

    now: datetime
    source: Source
    base_paths: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()  # paths that differ between base and worktree
    agreed: frozenset[str] = frozenset()  # paths whose present content a person has agreed to
    drift: tuple[Drift, ...] = ()  # what somebody else changed since the head
    seen: Mapping[str, JsonObject] = field(default_factory=dict)  # of the controller's fields of Σ,
    # as the authorities see them now
    exposed: bool = False  # drift tells text that nobody vouches for
    moved: str = ""  # the Git commit that somebody else has moved the run's branch to
    pending: tuple[Pending, ...] = ()
    added: tuple[Added, ...] = ()
    cases: tuple[tuple[Added, str], ...] = ()  # added lines that answer for the values of one
    # test only, with that test's place
    uncounted: bool = False
    tier: Tier | None = None  # of the sandbox that commands get
    stale: Mapping[str, str] = field(default_factory=dict)  # facts of the model's whose place reads
    # otherwise now: id -> what changed
