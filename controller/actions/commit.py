"""Make a Git commit of the worktree and deliver it to the user's repository."""

from dataclasses import replace

from controller.actions.workplace import CannotPerform, NeedsPerson, Workplace
from controller.core.action import Commit
from controller.core.errors import WorldError
from controller.core.facts import Source
from controller.core.observation import quoted
from controller.core.records import Effect
from controller.difference import difference
from controller.repo import ABSENT, Repo
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
    _nothing_held(place, source, action.message)
    place.fence()
    made = repo.commit_tree(source.tree, source.head, _message(effect, action), place.identity,
                            effect.begun)
    take_objects(place.user, repo, made, [source.base])
    repo.unlock(ref)
    old = repo.at(ref, source.head)
    if not repo.move_ref(ref, made, old):
        raise CannotPerform(f"the run's own branch is at {repo.ref(ref)}, expected {old}")
    try:
        _deliver(place, ref, made, source)
    except (CannotPerform, WorldError):
        repo.move_ref(ref, old, made)
        raise
    return made


def _nothing_held(place: Workplace, source: Source, message: str) -> None:
    """No secret that we hold leaves in a Git commit, nor the canary: not in a file of any kind, not
    in a name, not in the message. What was in a file before is not new.
    """
    redactor, repo = place.shell.redactor, replace(place.snapshots.repo, inherited=())
    said = {"the message": redactor.holds(message)}
    for item in difference(repo, source.head_tree, source.tree).files:
        what = redactor.holds(item.path) or (not item.removed and redactor.holds(
            _text(repo, source.tree, item.path)))
        if what and not redactor.holds(_text(repo, source.head_tree, item.path)):
            said[quoted(redactor.text(item.path))] = what
    for where, what in said.items():
        if what:
            kind = NeedsPerson if what == "canary" else CannotPerform
            raise kind(f"{where} has a {what}; take it out")


def _text(repo: Repo, tree: str, path: str) -> str:
    return (repo.file(tree, path) or b"").decode("utf-8", "replace")


def _deliver(place: Workplace, ref: str, made: str, source: Source) -> None:
    """Move the user's branch; one that its user has removed is made again.

    Not under a worktree of his that has it checked out: his next commit would undo ours.
    """
    if place.user.checked_out(ref):
        raise NeedsPerson(f"{source.branch} is checked out in a worktree of yours; check out "
                          "another branch there, then `oneshot resume`")
    place.fence()
    if not place.user.move_ref(ref, made, place.user.at(ref, source.head)):
        raise CannotPerform(f"somebody else has moved {source.branch} to {place.user.ref(ref)}; "
                            "it is left as it is: ask")


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
