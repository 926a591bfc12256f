"""Where actions happen: one worktree, with what they need from outside it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controller.commands import Shell
from controller.core.head import RunId
from controller.core.ports import Clock, Trail
from controller.forge.outside import Outside
from controller.repo import Identity, Repo
from controller.snapshots import Snapshots


class CannotPerform(Exception):  # an answer, not a fault
    """Why an action can't be performed: a sentence for the model. Becomes a failed outcome."""


class NeedsPerson(CannotPerform):
    """A person has to do something first; the run stands still until then."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """One run's worktree, the shell for its commands, and the user's repository.

    `fence` raises LeaseLost when the run is not ours any more: asked right before anything that
    is seen outside. `tests` are the command lines whose result follows from the files alone;
    `outside` is the forge. `enough`: nobody wants to wait any longer, or the run's time is over.
    """

    run: RunId
    snapshots: Snapshots
    shell: Shell
    user: Repo
    identity: Identity
    trail: Trail
    clock: Clock
    tests: frozenset[str] = frozenset()
    outside: Outside | None = None
    fence: Callable[[], None] = lambda: None
    enough: Callable[[], bool] = lambda: False

    @property
    def root(self) -> Path:
        """The worktree."""
        return self.snapshots.root
