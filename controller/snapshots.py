"""The worktree of a run and its exact states, kept in the controller's own repository.

The snapshots are the truth and the worktree is disposable. A snapshot is a Git tree and, where that
is not enough, its extras: folders without files, modes, FIFOs, repositories in the worktree.

Not kept and not restored: what the repository ignores (caches and build products stay as they are,
and are moved aside where they stand in the way), sockets, devices, times, owners, hard links.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from controller import extras as more
from controller.checkout import LEFT_BEHIND
from controller.core.errors import MachineFault, WorldError
from controller.core.facts import Snapshot
from controller.extras import Extras
from controller.folders import aside_of, remove
from controller.index import add_all, distrust, forget, ignored
from controller.locks import locked
from controller.pins import pin, pin_snapshot, prune
from controller.repo import Repo
from controller.restore import move_aside, put_back
from controller.survey import Survey, Walk, survey, walk

_PASSES = 4  # a restore that brings back a .gitignore may need to look again


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Takes and restores the states of one worktree.

    `repo` has the worktree and our own index; `base` is the Git commit that the run started from.
    """

    repo: Repo
    base: str
    _held: list[tuple[Walk, Snapshot]] = field(default_factory=list, compare=False, repr=False)
    # the last walk, and the snapshot that was taken of it

    @property
    def root(self) -> Path:
        """The worktree."""
        assert self.repo.work_tree is not None
        return self.repo.work_tree

    def take(self) -> Snapshot:
        """What the worktree holds now, untracked files included; pinned, so that no gc drops it.

        Our index is no more than a cache: when a crash has left it locked or damaged, another is
        made.
        """
        with self._alone() as repo:
            seen = self._walked()
            if self._held and self._held[0][0].same(seen):
                return self._held[0][1]
            return self._taken(repo, seen)

    def keep(self, name: str) -> None:
        """Keep the state that the worktree has now under refs/oneshot/NAME, for good.

        What git can't take is moved aside whole.
        """
        if not self.root.is_dir():
            return
        with self._alone() as repo:
            try:
                found = self._taken(repo)
            except MachineFault:
                raise
            except (WorldError, OSError):
                self._set_aside()
                return
            pin(repo, {f"refs/oneshot/{name}/{id}": id for id in (found.tree, found.extras) if id})

    def restore(self, wanted: Snapshot) -> None:
        """Make the worktree hold exactly `wanted`. Raises WorldError when that can't be proved."""
        with self._alone() as repo:
            try:
                restored = self.root.is_dir() and self._restored(repo, wanted)
            except MachineFault:
                raise
            except (WorldError, OSError):
                restored = False
            if not restored:
                self._rebuild(repo, wanted)

    def lay(self, tree: str) -> None:
        """Bring the files to `tree`, and leave what no tree can hold as it is.

        Raises WorldError when that can't be proved.
        """
        with self._alone() as repo:
            now = self._taken(repo)
            was = more.load(self._bare, now.extras)
            put_back(repo, (now.tree, tree), was, was)
            more.put_modes(self.root, (), {path: mode for path, mode in was.modes
                                           if (self.root / path).is_dir()})
            if self._taken(repo).tree != tree:
                raise WorldError(f"the worktree {self.root} can't be brought to tree {tree}")

    def nested(self, extras: str) -> tuple[str, ...]:
        """The folders of a snapshot that are repositories of their own."""
        return more.load(self._bare, extras).nested

    def has(self, wanted: Snapshot) -> bool:
        """Whether the snapshot is still kept: a retention rule may have dropped it."""
        try:
            self._bare.paths(wanted.tree)
            more.load(self._bare, wanted.extras)
        except WorldError:
            return False
        return True

    def prune(self, kept: Iterable[Snapshot]) -> None:
        """Let go of every snapshot but these and the named ones, and pack what is left."""
        self._held.clear()
        with self._alone() as repo:
            prune(repo, kept, self.base)

    @property
    def _index(self) -> Path:
        """Our own index of the worktree."""
        assert self.repo.index is not None
        return self.repo.index

    @property
    def _bare(self) -> Repo:
        """Our repository by itself: to be asked while there is no worktree."""
        return Repo(self.repo.git_dir)

    @contextmanager
    def _alone(self) -> Iterator[Repo]:
        """Our repository, with no other git of this worktree at work: not ours, and not one that a
        dead controller has left running, since its git processes have inherited the lock.
        """
        with locked(self._index.with_suffix(".flock")) as lock:
            self._index.with_name(self._index.name + ".lock").unlink(missing_ok=True)
            yield replace(self.repo, inherited=(lock,))

    def _walked(self) -> Walk:
        self.root.mkdir(parents=True, exist_ok=True)  # all its files are gone then, no more
        return walk(self.root, time.time_ns(), _tracked(self._bare, self.base))

    def _taken(self, repo: Repo, seen: Walk | None = None) -> Snapshot:
        self._held.clear()
        seen = seen or self._walked()
        try:
            found = self._look(repo, seen)
        except WorldError:
            self._drop_index()
            found = self._look(repo, self._walked())
        pin_snapshot(self._bare, found)
        if seen.settled and not seen.deep:
            self._held.append((seen, found))
        return found

    def _look(self, repo: Repo, walked: Walk) -> Snapshot:
        if not self._second():  # what was tracked before is kept, ignored or not
            repo.git("read-tree", self._last())
        seen = survey(self.root, self._second(), walked)
        self._clear_for_git(repo, seen)
        inner = [path for path in seen.nested if path]
        if inner:
            forget(repo, inner)  # what it was before it became a repository
        nested = frozenset(seen.nested) - ignored(repo, inner)
        add_all(repo, nested.intersection(inner))
        tree = repo.git("write-tree").decode().strip()
        found = more.gather(repo, tree, seen, nested)
        second = self._second()
        distrust(repo, frozenset(path for path, at in seen.fresh.items() if at >= second))
        self._remember(tree)
        return Snapshot(tree, more.store(repo, found))

    def _last(self) -> str:
        """The tree that was taken last; the base when there is none."""
        try:
            return self._bare.tree_of(self._index.with_suffix(".last").read_text().strip())
        except (OSError, WorldError):
            return self.base

    def _remember(self, tree: str) -> None:
        """For when the index is lost: it would not know what is tracked and ignored since."""
        place = self._index.with_suffix(".last")
        if not place.exists() or place.read_text() != tree:
            place.write_text(tree)

    def _clear_for_git(self, repo: Repo, seen: Survey) -> None:
        """Git waits for ever at a FIFO called .gitignore, fails at one where it had a file, and
        can't follow a path of any length.
        """
        move_aside(self.root, seen.deep)
        without_content = [*seen.fifos, *seen.special]
        for path in without_content:
            if path.rpartition("/")[2].startswith(".git"):
                (self.root / path).unlink()
                seen.modes.pop(path, None)
        seen.fifos = [path for path in seen.fifos if (self.root / path).is_fifo()]
        if without_content:
            forget(repo, without_content)

    def _restored(self, repo: Repo, wanted: Snapshot) -> bool:
        be = more.load(self._bare, wanted.extras)
        for _ in range(_PASSES):
            now = self._taken(repo)
            if now == wanted:
                return True
            was = more.load(self._bare, now.extras)
            missing, places = be.beside(was)
            move_aside(self.root, places)
            put_back(repo, (now.tree, wanted.tree), was, be)
            more.put_parts(repo, missing)
            move_aside(self.root, more.put_rest(repo, wanted.tree, was, be))
        return False

    def _rebuild(self, repo: Repo, wanted: Snapshot) -> None:
        """Make the worktree anew, beside what git can't deal with; nothing of that is removed.

        It is made under another name first: half a worktree would look like somebody's deletions.
        """
        self._bare.paths(wanted.tree)  # raises while all is as it was, when there is no such tree
        be = more.load(self._bare, wanted.extras)
        beside = self.root.with_name(f"{self.root.name}.new")
        self._drop_index()
        remove(beside)
        beside.mkdir(parents=True)
        new = replace(repo, work_tree=beside)
        new.git("read-tree", "--reset", "-u", wanted.tree)
        more.put_parts(new, be)
        more.put_rest(new, wanted.tree, Extras(), be)
        aside = aside_of(self.root)
        if self.root.exists():
            self.root.rename(aside)
        beside.rename(self.root)
        if self._taken(repo) != wanted:
            raise WorldError(f"the worktree {self.root} can't be brought back to tree "
                             f"{wanted.tree}; what was there is in {aside}")

    def _set_aside(self) -> None:
        self.root.rename(aside_of(self.root))
        self._drop_index()

    def _drop_index(self) -> None:
        self._index.unlink(missing_ok=True)

    def _second(self) -> int:
        """The second in which the index was written; 0 when there is none."""
        try:
            return int(self._index.stat().st_mtime)
        except FileNotFoundError:
            return 0


@lru_cache(maxsize=4)
def _tracked(repo: Repo, base: str) -> frozenset[str]:
    """The names of tools' folders in which the base has files all the same."""
    paths = repo.paths(base) if base else ()
    return frozenset(part for path in paths for part in path.split("/")[:-1] if part in LEFT_BEHIND)
