"""Git as an authority: the exact tree of the worktree, the run's branch, what others changed."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache

from controller.core.action import Commit, Finish
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.errors import WorldError
from controller.core.facts import Facts, Source
from controller.core.head import Head
from controller.core.observation import quoted
from controller.core.ports import Clock
from controller.core.projection import agreements, tree_of
from controller.core.records import (
    POSTCONDITION,
    Effect,
    Evidence,
    Finding,
    Outcome,
    Remains,
    Status,
)
from controller.difference import difference
from controller.repo import Repo
from controller.snapshots import Snapshots

_FEW = 5  # changed files that a finding names
_NAMED = 30  # changed files that a drift names


@dataclass(frozen=True, slots=True)
class Git:
    """What Git says about one run. `branch` is without refs/heads/."""

    snapshots: Snapshots
    user: Repo
    branch: str
    base: str
    clock: Clock

    def observe(self, head: Head) -> Facts:
        """The facts now, with the difference to what the head's state says as drift."""
        repo = self.snapshots.repo
        snapshot = self.snapshots.take()
        tree = snapshot.tree
        ref = f"refs/heads/{self.branch}"
        at, theirs = repo.ref(ref) or self.base, self.user.ref(ref)
        source = Source(self.branch, self.base, at, _tree(repo, at), tree, snapshot.extras)
        differs = difference(replace(repo, inherited=()), source.head_tree, tree)
        return Facts(self.clock.now(), source, _paths(repo, self.base),
                     changed_paths(repo, self.base, tree), agreed(repo, head.state, tree),
                     self._drift(head, source), theirs if theirs and theirs != at else "",
                     differs.files, differs.added, differs.cut,
                     stale=_stale(repo, canonical(head.marks.get("sources")).decode(), tree))

    def examine(self, effect: Effect) -> Remains:
        """What is left in the worktree of an effect that changes it."""
        before = effect.source
        found = self.snapshots.take()
        if found == before.snapshot:
            return Remains(None, "the worktree is as it was before")
        changed = self.snapshots.repo.changed(before.tree, found.tree)
        names = ", ".join(quoted(path) for _, path in changed[:_FEW])
        rest = f" and {len(changed) - _FEW} more" if len(changed) > _FEW else ""
        return Remains(None, "the worktree differs from what it was before"
                       + (f": {names}{rest}" if names else "")
                       + f" (kept as refs/oneshot/found/{effect.id}/… in the run's repo.git)")

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """Whether the user's branch holds the run's Git commit, after a `commit` and at finish."""
        action = effect.candidate.transition.action
        finishing = isinstance(action, Finish) and action.result == "done"
        if outcome.status is not Status.DONE or not (finishing or isinstance(action, Commit)):
            return ()
        ref, wanted = f"refs/heads/{self.branch}", outcome.source.head
        found = self.user.ref(ref)
        holds = found == wanted and _tree(self.snapshots.repo, wanted) == effect.source.tree
        return (Evidence(
            POSTCONDITION + "delivered", Finding.VERIFIED if holds else Finding.FAILING, "git", ref,
            effect.source.tree, self.clock.now(),
            f"{ref} of the user's repository is at {found or 'nothing'}, expected {wanted}"),)

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


@lru_cache(maxsize=8)
def _stale(repo: Repo, sources: str, tree: str) -> dict[str, str]:
    """Of the places that facts name, as JSON: those that read otherwise in a tree than when they
    were seen.
    """
    known = {id: entries(seen) for id, seen in entries(json.loads(sources)).items()
             if "\n" not in str(entries(seen)["path"])}
    if not known:
        return {}
    try:
        same = repo.same([(str(seen["tree"]), tree, str(seen["path"])) for seen in known.values()])
    except (WorldError, ValueError):
        return dict.fromkeys(known, "its source can't be looked up")  # and no run stops for it
    return {id: why for (id, seen), unchanged in zip(known.items(), same, strict=True)
            if not unchanged and (why := _reads_otherwise(repo, seen, tree))}


def _reads_otherwise(repo: Repo, seen: JsonObject, tree: str) -> str:
    """Why a line that was seen is not to be relied on; empty: it is there still, perhaps moved."""
    path, line = str(seen["path"]), int(str(seen["line"]))
    try:
        old, new = repo.file(str(seen["tree"]), path), repo.file(tree, path)
    except WorldError:
        return f"{quoted(path)} was seen in a tree that is not kept any more"
    if new is None:
        return f"{quoted(path)} is gone"
    lines = (old or b"").splitlines()
    if line > len(lines):
        return f"{quoted(path)} has changed"
    return "" if lines[line - 1] in new.splitlines() else f"{quoted(path)}:{line} reads otherwise"


@lru_cache(maxsize=256)
def _tree(repo: Repo, commit: str) -> str:
    return repo.tree_of(commit)


@lru_cache(maxsize=8)
def _paths(repo: Repo, commit: str) -> frozenset[str]:
    return repo.paths(commit)


def agreed(repo: Repo, state: JsonObject, tree: str) -> frozenset[str]:
    """The paths of a tree whose content is as a person has last agreed to it."""
    found, answered = frozenset[str](), frozenset[str]()
    for at, paths in agreements(state):  # an older answer is about what was changed since
        found |= paths - answered - changed_paths(repo, at, tree)
        answered |= paths
    return found


@lru_cache(maxsize=64)
def changed_paths(repo: Repo, base: str, tree: str) -> frozenset[str]:
    """The paths that differ between two trees."""
    return frozenset(path for _, path in repo.changed(base, tree))
