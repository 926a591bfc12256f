"""Take over what somebody else has put on the run's branch: nothing of his, or of ours, is lost."""

from controller.actions.workplace import CannotPerform, Workplace
from controller.core.action import Adopt
from controller.core.facts import Source
from controller.core.observation import quoted
from controller.core.records import Effect
from controller.transfer import keep_objects

_NAMED = 20  # Git commits and files that the model is told of


def adopt(place: Workplace, effect: Effect, action: Adopt) -> tuple[str, Source]:
    """What there is to tell, and where the run stands then.

    His Git commits become the head of the run; what the worktree had beyond ours is merged with
    them, and where both changed the same lines the file holds both, marked.
    """
    place.fence()
    source, repo, theirs = effect.source, place.snapshots.repo, action.commit
    ours = source.head
    if source.dirty:
        ours = repo.commit_tree(source.tree, source.head, "The worktree", place.identity,
                                effect.begun)
    keep_objects(repo, place.user, source.base, theirs)  # he may amend it, and Git forget it
    tree, conflicts = repo.merged(ours, theirs)
    place.snapshots.lay(tree)
    ref = f"refs/heads/{source.branch}"
    repo.unlock(ref)
    if not repo.move_ref(ref, theirs, repo.at(ref, source.head)):
        raise CannotPerform(f"the run's own branch is at {repo.ref(ref)}, expected {source.head}")
    found = place.snapshots.take()
    after = Source(source.branch, source.base, theirs, repo.tree_of(theirs), found.tree,
                   found.extras)
    return _told(place, source, theirs, conflicts), after


def _told(place: Workplace, source: Source, theirs: str, conflicts: tuple[str, ...]) -> str:
    repo = place.snapshots.repo
    commits = repo.log(source.head, theirs, _NAMED)
    changed = repo.changed(source.head_tree, repo.tree_of(theirs))
    off = len(repo.log(theirs, source.head, _NAMED))
    lines = [f"Drift (branch): somebody else has moved {source.branch} from {source.head[:12]} to "
             f"{theirs[:12]}. It is the head of the run now, merged into your worktree."]
    if off:
        lines.append(f"  {off} Git commits of yours were taken off; what they changed is in your "
                     "worktree, not committed")
    lines += [f"  commit {line}" for line in commits]
    lines += [f"  {letter} {quoted(path)}" for letter, path in changed[:_NAMED]]
    lines += [f"  … and {len(changed) - _NAMED} more files"] if len(changed) > _NAMED else []
    lines += [f"  both sides changed {quoted(path)}: settle what stands between the markers"
              for path in conflicts]
    return "\n".join(lines)
