"""The contract's typed constraints as Git sees them: what does a tree change of the base?"""

from dataclasses import dataclass
from functools import lru_cache

from controller.authorities.git import changed_paths
from controller.core.action import Edit, EffectClass, Finish, Run
from controller.core.constraints import Broken, Changed, broken, looks_into, typed, worse
from controller.core.contract import Constraint
from controller.core.dependencies import Unreadable, dependencies, is_manifest
from controller.core.ports import Clock
from controller.core.records import POSTCONDITION, Effect, Evidence, Finding, Outcome, Status
from controller.repo import Repo

_LARGEST = 64 * 1024 * 1024  # bytes of a file that is looked into


@dataclass(frozen=True, slots=True)
class Constraints:
    """Looks at trees of one run, which started from `base`."""

    repo: Repo
    constraints: tuple[Constraint, ...]
    base: str
    clock: Clock

    @property
    def any(self) -> bool:
        """Whether there is one that a tree can break."""
        return any(map(typed, self.constraints))

    def broken(self, tree: str, before: str) -> tuple[Broken, ...]:
        """What is not as the contract wants it in a tree, and was in the one `before` it (empty:
        the base).
        """
        if not self.any or tree == before:
            return ()
        found = self._broken(tree)
        return worse(found, self._broken(before)) if found and before else found

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        """What an action did to the worktree, and at a finish every constraint a tree can break."""
        action = effect.candidate.transition.action
        if outcome.status is not Status.DONE:
            return ()
        if isinstance(action, Run | Edit) and effect.aim.effect_class is EffectClass.WORKSPACE:
            return tuple(self._evidence(POSTCONDITION + item.constraint, outcome.source.tree,
                                        item.message)
                         for item in self.broken(outcome.source.tree, effect.source.tree))
        if isinstance(action, Finish) and action.result == "done":
            return self._final(outcome.source.head_tree)
        return ()

    def _final(self, tree: str) -> tuple[Evidence, ...]:
        found = self._broken(tree) if self.any else ()
        return tuple(self._evidence(item.id, tree, "\n".join(
            one.message for one in found if one.constraint == item.id))
            for item in self.constraints if typed(item))

    def _evidence(self, subject: str, tree: str, detail: str) -> Evidence:
        finding = Finding.FAILING if detail else Finding.VERIFIED
        return Evidence(subject, finding, "git", "what the tree changes of the base", tree,
                        self.clock.now(), detail or "it is so")

    def _broken(self, tree: str) -> tuple[Broken, ...]:
        return _of_tree(self.repo, self.constraints, self.base, tree)


@lru_cache(maxsize=16)
def _of_tree(repo: Repo, constraints: tuple[Constraint, ...], base: str,
             tree: str) -> tuple[Broken, ...]:
    paths = changed_paths(repo, base, tree)
    texts = {path: (_text(repo, base, path), _text(repo, tree, path)) for path in paths
             if looks_into(constraints, path)}
    counts = any(item.max_lines for item in constraints)
    return broken(constraints, Changed(
        paths, repo.counted(base, tree) if counts else 0, texts,
        _known(repo, base) if any(item.no_new_dependencies for item in constraints)
        else frozenset()))


@lru_cache(maxsize=4)
def _known(repo: Repo, base: str) -> frozenset[str]:
    """Every package that a manifest or lockfile of the base names."""
    found: set[str] = set()
    for path in filter(is_manifest, repo.paths(base)):
        try:
            found |= dependencies(path, _text(repo, base, path) or "")
        except Unreadable:
            continue  # it told nobody anything in the base either
    return frozenset(found)


def _text(repo: Repo, tree: str, path: str) -> str | None:
    content = repo.file(tree, path)
    return None if content is None else content[:_LARGEST].decode("utf-8", "replace")
