"""Make a Git commit of the worktree and deliver it to the user's repository."""

from controller.actions.workplace import CannotPerform, Workplace
from controller.core.action import Commit
from controller.core.errors import WorldError
from controller.core.records import Effect, Source
from controller.repo import ABSENT
from controller.transfer import take_objects


def commit(place: Workplace, effect: Effect, action: Commit) -> str:
    """The id of the Git commit, on the run's branch in both repositories.

    Everything it depends on is in the effect, so doing it again gives the same id and moves
    nothing twice. Raises CannotPerform when there is nothing to commit or when somebody else has
    moved the branch.
    """
    source, repo = effect.source, place.snapshots.repo
    ref = f"refs/heads/{source.branch}"
    foreign = [path for path in place.snapshots.nested(source.extras) if path]
    if foreign:
        raise CannotPerform(f"{', '.join(foreign)}: a Git repository of its own, whose "
                            "files a Git commit can't hold; remove its .git folder, or remove it")
    if not source.dirty:
        return _again(place, ref, source)
    made = repo.commit_tree(source.tree, source.head, _message(effect, action), place.identity,
                            effect.begun)
    old = source.head if source.head != source.base else ABSENT
    take_objects(place.user, repo, made, [source.base])
    repo.unlock(ref)
    if not repo.move_ref(ref, made, old):
        raise CannotPerform(f"the run's own branch is at {repo.ref(ref)}, expected {old}")
    place.fence()
    try:
        gone = place.user.ref(ref) is None  # a branch that its user has removed is made again
        delivered = place.user.move_ref(ref, made, ABSENT if gone else old)
    except WorldError:
        repo.move_ref(ref, old, made)
        raise
    if not delivered:
        repo.move_ref(ref, old, made)
        raise CannotPerform(f"somebody else has moved {source.branch} to {place.user.ref(ref)}; "
                            "it is left as it is: ask")
    return made


def _again(place: Workplace, ref: str, source: Source) -> str:
    """Deliver the last Git commit once more, to a user who has removed the branch."""
    if source.head == source.base or place.user.ref(ref) is not None:
        raise CannotPerform("there is nothing to commit: the worktree equals the last Git commit")
    take_objects(place.user, place.snapshots.repo, source.head, [source.base])
    place.fence()
    if not place.user.move_ref(ref, source.head, ABSENT):
        raise CannotPerform(f"somebody else has made {source.branch} just now: ask")
    return source.head


def _message(effect: Effect, action: Commit) -> str:
    base = effect.candidate.base
    return (f"{action.message.strip()}\n\nOneshot-Run: {base.run}\n"
            f"Oneshot-Step: {base.spent.steps}\n")
