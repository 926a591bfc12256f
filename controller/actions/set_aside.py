"""Keep what a candidate that waits for a person would make of the worktree: nothing is dropped."""

from controller.actions.edit import worked_out
from controller.actions.workplace import CannotPerform, Workplace
from controller.core.action import Commit, Edit
from controller.core.records import Candidate

PARKED = "refs/oneshot/parked/"
"""How the refs begin, in the run's repository, that hold what waits for a person."""


def set_aside(place: Workplace, candidate: Candidate) -> str:
    """The ref of the tree that the candidate leads to; empty when that can't be told beforehand."""
    tree = foresee(place, candidate)
    if not tree:
        return ""
    ref = f"{PARKED}{candidate.base.spent.steps + 1}"
    place.snapshots.repo.git("update-ref", ref, tree)
    return ref


def foresee(place: Workplace, candidate: Candidate) -> str:
    """The tree that a candidate leads to; empty when that can't be told beforehand."""
    action, repo = candidate.transition.action, place.snapshots.repo
    match action:
        case Commit():
            return place.snapshots.take().tree
        case Edit(changes):
            try:
                files = worked_out(place.root, changes)
            except (CannotPerform, OSError):
                return ""
            return repo.laid_over(place.snapshots.take().tree, {
                path: (_mode(content.mode), content.data) if content else None
                for path, content in files.items()})
        case _:
            return ""


def _mode(mode: int | None) -> str:
    return "100755" if mode and mode & 0o100 else "100644"
