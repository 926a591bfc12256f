"""The worktree of a run and its exact states, kept as trees in the controller's own repository.

The snapshots are the truth and the worktree is disposable. Files that the repository ignores are
not kept and not restored: caches and build products stay where they are.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from controller.core.errors import WorldError
from controller.repo import Repo

_PASSES = 4  # a restore that brings back a .gitignore may need to look again


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Takes and restores the states of one worktree. `repo` has the worktree and our own index."""

    repo: Repo

    @property
    def root(self) -> Path:
        """The worktree."""
        assert self.repo.work_tree is not None
        return self.repo.work_tree

    def take(self) -> str:
        """The id of the tree that the worktree holds now, untracked files included.

        Our index is no more than a cache: when a crash has left it locked or damaged, another is
        made.
        """
        self._unlock()
        try:
            return self._take()
        except WorldError:
            assert self.repo.index is not None
            self.repo.index.unlink(missing_ok=True)
            return self._take()

    def _take(self) -> str:
        self.repo.git("add", "--all", "--", ".")
        return self.repo.git("write-tree").decode().strip()

    def keep(self, name: str) -> None:
        """Pin the state that the worktree has now under a hidden ref, so that nothing is lost."""
        if self.root.is_dir():
            self.repo.git("update-ref", f"refs/oneshot/{name}", self.take())

    def restore(self, tree: str) -> None:
        """Make the worktree hold exactly `tree`. Raises WorldError when that can't be proved."""
        if not self.root.is_dir():
            self.root.mkdir(parents=True)
        for _ in range(_PASSES):
            if self.take() == tree:
                return
            self._clear_obstacles(tree)
            self.repo.git("read-tree", "--reset", "-u", tree)
        raise WorldError(f"the worktree {self.root} can't be brought back to tree {tree}")

    def _unlock(self) -> None:
        """Remove the lock that a killed git left on our own index; nobody else uses it."""
        assert self.repo.index is not None
        self.repo.index.with_name(self.repo.index.name + ".lock").unlink(missing_ok=True)

    def _clear_obstacles(self, tree: str) -> None:
        """Remove ignored or nested folders that stand where the tree has a file.

        A link on the way is for git to replace: what lies behind it is not ours.
        """
        for path in self.repo.paths(tree):
            target = self.root
            for part in path.split("/"):
                target = target / part
                if target.is_symlink():
                    break
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
