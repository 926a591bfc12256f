"""Make a Git commit of the worktree and deliver it to the user's repository."""

from controller.actions.workplace import CannotPerform, Workplace
from controller.core.action import Commit
from controller.core.records import Effect
from controller.repo import ABSENT


def commit(place: Workplace, effect: Effect, action: Commit) -> str:
    """The id of the Git commit, on the run's branch in both repositories.

    Everything it depends on is in the effect, so doing it again gives the same id and moves
    nothing twice. Raises CannotPerform when there is nothing to commit or when somebody else has
    moved the branch.
    """
    source, repo = effect.source, place.snapshots.repo
    if not source.dirty:
        raise CannotPerform("there is nothing to commit: the worktree equals the last Git commit")
    made = repo.commit_tree(source.tree, source.head, _message(effect, action), place.identity,
                            effect.begun)
    place.user.take_objects(repo, made, [source.base])
    ref = f"refs/heads/{source.branch}"
    old = source.head if source.head != source.base else ABSENT
    if not place.user.move_ref(ref, made, old):
        raise CannotPerform(f"somebody else has moved {source.branch} to {place.user.ref(ref)}; "
                            "it is left as it is: ask")
    if not repo.move_ref(ref, made, old):
        raise CannotPerform(f"the run's own branch is at {repo.ref(ref)}, expected {old}")
    return made


def _message(effect: Effect, action: Commit) -> str:
    base = effect.candidate.base
    return (f"{action.message.strip()}\n\nOneshot-Run: {base.run}\n"
            f"Oneshot-Step: {base.spent.steps}\n")
