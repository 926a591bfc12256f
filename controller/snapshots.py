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
    """Takes and restores the states of one worktree.

    `repo` has the worktree and our own index; `base` is the Git commit that the run started from.
    """

    repo: Repo
    base: str

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
            self._drop_index()
            return self._take()

    def _take(self) -> str:
        assert self.repo.index is not None
        if not self.repo.index.exists():
            self.repo.git("read-tree", self.base)  # what it tracks is kept, ignored or not
        self.repo.git("add", "--all", "--", ".")
        return self.repo.git("write-tree").decode().strip()

    def keep(self, name: str) -> None:
        """Pin the state that the worktree has now under a hidden ref, so that nothing is lost.

        What git can't take is moved aside whole.
        """
        if not self.root.is_dir():
            return
        try:
            tree = self.take()
        except WorldError:
            self._set_aside()
            return
        self.repo.unlock(f"refs/oneshot/{name}")
        self.repo.git("update-ref", f"refs/oneshot/{name}", tree)

    def restore(self, tree: str) -> None:
        """Make the worktree hold exactly `tree`. Raises WorldError when that can't be proved."""
        if not self.root.is_dir():
            self.root.mkdir(parents=True)
        try:
            restored = self._restored(tree)
        except WorldError:
            restored = False
        if not restored:
            self._rebuild(tree)

    def _restored(self, tree: str) -> bool:
        for _ in range(_PASSES):
            if self.take() == tree:
                return True
            self._clear_obstacles(tree)
            self.repo.git("read-tree", "--reset", "-u", tree)
        return False

    def _rebuild(self, tree: str) -> None:
        """Make the worktree anew, beside what git can't deal with; nothing of that is removed."""
        self.repo.paths(tree)  # raises while all is as it was, when there is no such tree
        aside = self._set_aside()
        self.root.mkdir()
        self.repo.git("read-tree", "--reset", "-u", tree)
        if self.take() != tree:
            raise WorldError(f"the worktree {self.root} can't be brought back to tree {tree}; what "
                             f"was there is in {aside}")

    def _set_aside(self) -> Path:
        aside = next(place for number in range(1, 10_000) if not (
            place := self.root.with_name(f"{self.root.name}.aside-{number}")).exists())
        self.root.rename(aside)
        self._drop_index()
        return aside

    def _drop_index(self) -> None:
        assert self.repo.index is not None
        self.repo.index.unlink(missing_ok=True)

    def _unlock(self) -> None:
        """Remove the lock that a killed git left on our own index; nobody else uses it."""
        assert self.repo.index is not None
        self.repo.index.with_name(self.repo.index.name + ".lock").unlink(missing_ok=True)

    def _clear_obstacles(self, tree: str) -> None:
        """Remove ignored or nested folders that stand where the tree has a file.

        A link on the way is for git to replace: what lies behind it is not ours.
        """
        for path in self.repo.paths(tree) - {path for path, _ in self.repo.links(tree)}:
            target = self.root
            for part in path.split("/"):
                target = target / part
                if target.is_symlink():
                    break
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
