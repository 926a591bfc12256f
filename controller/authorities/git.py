"""Git as an authority: the exact tree of the worktree, the run's branch, what others changed."""

from dataclasses import dataclass
from functools import lru_cache

from controller.core.action import Commit
from controller.core.head import Head
from controller.core.observation import quoted
from controller.core.ports import Clock
from controller.core.projection import tree_of
from controller.core.records import Effect, Evidence, Facts, Finding, Outcome, Source, Status
from controller.repo import Repo
from controller.snapshots import Snapshots

_NAMED = 30  # changed files that a drift names


@dataclass(frozen=True, slots=True)
class Git:
    """What Git says about one run. `branch` is without refs/heads/."""

    snapshots: Snapshots
    branch: str
    base: str
    clock: Clock

    def observe(self, head: Head) -> Facts:
        """The facts now, with the difference to what the head's state says as drift."""
        repo = self.snapshots.repo
        tree = self.snapshots.take()
        at = repo.ref(f"refs/heads/{self.branch}") or self.base
        source = Source(self.branch, self.base, at, _tree(repo, at), tree)
        return Facts(self.clock.now(), source, _paths(repo, self.base),
                     _changed(repo, self.base, tree), self._drift(head, source))

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """Whether a `commit` did what it was for: the branch holds a Git commit of the tree."""
        if not isinstance(effect.candidate.transition.action, Commit):
            return ()
        if outcome.status is not Status.DONE:
            return ()
        ref = f"refs/heads/{self.branch}"
        made = self.snapshots.repo.ref(ref)
        holds = made is not None and _tree(self.snapshots.repo, made) == effect.source.tree
        return (Evidence(
            "postcondition", Finding.VERIFIED if holds else Finding.FAILING, "git", ref,
            effect.source.tree, self.clock.now(), f"{ref} is {made or 'absent'}"),)

    def _drift(self, head: Head, source: Source) -> str:
        known = tree_of(head.state)
        if not known or known == source.tree:
            return ""
        changed = self.snapshots.repo.changed(known, source.tree)
        names = [f"  {letter} {quoted(path)}" for letter, path in changed[:_NAMED]]
        rest = [f"  … and {len(changed) - _NAMED} more"] if len(changed) > _NAMED else []
        return "\n".join([
            "Drift: somebody else changed these files since your last action (A added, M changed, "
            "D removed). They are kept as they are now; read what matters to you again.",
            *names, *rest])


@lru_cache(maxsize=256)
def _tree(repo: Repo, commit: str) -> str:
    return repo.tree_of(commit)


@lru_cache(maxsize=8)
def _paths(repo: Repo, commit: str) -> frozenset[str]:
    return repo.paths(commit)


@lru_cache(maxsize=64)
def _changed(repo: Repo, base: str, tree: str) -> frozenset[str]:
    return frozenset(path for _, path in repo.changed(base, tree))
