"""Git as an authority: the exact tree of the worktree, the run's branch, what others changed."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache

from controller.core.action import Commit, Finish
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.cases import Tested, cases, choosing, values_of
from controller.core.contract import GitCheck
from controller.core.drift import Drift
from controller.core.errors import WorldError
from controller.core.facts import Added, Facts, Source
from controller.core.glob import matches
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
from controller.loose import head_id, under_way
from controller.repo import Repo
from controller.snapshots import Snapshots

_FEW = 5  # changed files that a finding names
_NAMED = 30  # changed files that a drift names
_TESTS, _LARGEST = 500, 256 * 1024  # files of tests that are looked into, bytes of one


@dataclass(frozen=True, slots=True)
class Git:
    """What Git says about one run. `branch` is without refs/heads/."""

    snapshots: Snapshots
    user: Repo
    branch: str
    base: str
    clock: Clock
    tests: tuple[str, ...] = ()  # patterns of the base's protected files

    def observe(self, head: Head) -> Facts:
        """The facts now, with the difference to what the head's state says as drift."""
        repo = self.snapshots.repo
        snapshot = self.snapshots.take()
        tree = snapshot.tree
        ref = f"refs/heads/{self.branch}"
        at, theirs = repo.ref(ref) or self.base, self.user.ref(ref)
        differs = difference(replace(repo, inherited=()), _tree(repo, at), tree)
        newest = head_id(self.user.git_dir)
        if newest is None:
            newest = self.user.commit("HEAD")
        source = Source(
            self.branch, self.base, at, _tree(repo, at), tree, snapshot.extras,
            _count(repo, self.base, at), _count(self.user, self.base, newest), len(differs.files),
            sum(item.before == "000000" for item in differs.files), under_way(self.user.git_dir))
        return Facts(self.clock.now(), source, _paths(repo, self.base),
                     changed_paths(repo, self.base, tree), agreed(repo, head.state, tree),
                     self._drift(head, source), moved=theirs if theirs and theirs != at else "",
                     pending=differs.files, added=differs.added, uncounted=differs.cut,
                     cases=self._cases(differs.added),
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
        repo, tree = self.snapshots.repo, effect.source.tree
        holds = found == wanted and _tree(repo, wanted) == tree
        said = [("delivered", holds, f"{ref} of the user's repository is at {found or 'nothing'}, "
                 f"expected {wanted}")]
        if finishing:
            changed = _tree(repo, wanted) != _tree(repo, self.base)
            said.append(("changed", changed, "the Git commit changes something of the base"
                         if changed else "nothing is different from the base, so nothing is done"))
        return tuple(Evidence(
            POSTCONDITION + name, Finding.VERIFIED if good else Finding.FAILING, "git", ref,
            tree, self.clock.now(), detail) for name, good, detail in said)

    def _cases(self, added: tuple[Added, ...]) -> tuple[tuple[Added, str], ...]:
        product = tuple(line for line in added if not matches(line.path, self.tests))
        if not self.tests or not choosing(product):
            return ()
        return tuple(cases(product, _tested(self.snapshots.repo, self.base, self.tests)))

    def _drift(self, head: Head, source: Source) -> tuple[Drift, ...]:
        before = entries(head.state.get("source_authority")).get("behind", source.behind)
        moved = (Drift("base", f"the user's checkout has {source.behind} Git commits that this run "
                       "does not start from", news=True),) if source.behind != before else ()
        return (*moved, *self._changed(head, source))

    def _changed(self, head: Head, source: Source) -> tuple[Drift, ...]:
        known = tree_of(head.state)
        if not known or known == source.tree:
            return ()
        changed = self.snapshots.repo.changed(known, source.tree)
        names = [f"  {letter} {quoted(path)}" for letter, path in changed[:_NAMED]]
        rest = [f"  … and {len(changed) - _NAMED} more"] if len(changed) > _NAMED else []
        return (Drift("worktree", "\n".join([
            "somebody else changed these files since your last action (A added, M changed, "
            "D removed). They are kept as they are now; read what matters to you again.",
            *names, *rest])),)


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


@lru_cache(maxsize=64)
def _count(repo: Repo, old: str, new: str) -> int:
    """How many Git commits `new` has and `old` has not."""
    return repo.counted_commits(old, new) if new and old != new else 0


@lru_cache(maxsize=2)
def _tested(repo: Repo, base: str, tests: tuple[str, ...]) -> Tested:
    """What stands in the base's tests, as far as they are looked at."""
    paths = sorted(path for path in repo.paths(base) if matches(path, tests))
    return values_of((f"{quoted(path)}:{number}", line) for path in paths[:_TESTS]
                  for number, line in enumerate((repo.file(base, path) or b"")[:_LARGEST].decode(
                      "utf-8", "replace").splitlines(), 1))


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


def predicate(check: GitCheck, repo: Repo, user: Repo, base: str,
              commit: str) -> tuple[Finding, str]:
    """Whether Git says of a Git commit what a check wants, and why not."""
    faults = []
    if check.based_on:
        theirs = user.ref(f"refs/heads/{check.based_on}")
        if theirs is None:
            return Finding.UNKNOWN, f"your repository has no branch {check.based_on}"
        missing = repo.log(commit, theirs, _FEW)
        if missing:
            faults.append(f"it lacks Git commits of {check.based_on}: {'; '.join(missing)}")
    merges = repo.merges(base, commit) if check.no_merges else ()
    if merges:
        faults.append(f"these are merges: {', '.join(id[:12] for id in merges[:_FEW])}")
    outside = sorted(path for path in changed_paths(repo, base, commit) if check.touches
                     and not matches(path, check.touches))
    if outside:
        faults.append("it changes other files: " + ", ".join(map(quoted, outside[:_FEW])))
    return (Finding.FAILING, "; ".join(faults)) if faults else (Finding.VERIFIED, "it is so")


@lru_cache(maxsize=64)
def changed_paths(repo: Repo, base: str, tree: str) -> frozenset[str]:
    """The paths that differ between two trees."""
    return frozenset(path for _, path in repo.changed(base, tree))
