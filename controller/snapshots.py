"""The worktree of a run and its exact states, kept in the controller's own repository.

The snapshots are the truth and the worktree is disposable. A snapshot is a Git tree and, where that
is not enough, its extras: folders without files, modes, FIFOs, repositories in the worktree.

Not kept and not restored: what the repository ignores (caches and build products stay as they are,
and are moved aside where they stand in the way), sockets, devices, times, owners, hard links.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from controller import extras as more
from controller.core.errors import MachineFault, WorldError
from controller.core.records import Snapshot
from controller.extras import Extras
from controller.folders import remove
from controller.index import add_all, distrust, forget, hidden, ignored
from controller.pins import pin, pin_snapshot, prune
from controller.process import locked
from controller.repo import Repo
from controller.survey import RULES, Survey, survey

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

    def take(self) -> Snapshot:
        """What the worktree holds now, untracked files included; pinned, so that no gc drops it.

        Our index is no more than a cache: when a crash has left it locked or damaged, another is
        made.
        """
        with self._alone() as repo:
            return self._taken(repo)

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
            self._put_back(repo, (now.tree, tree), was, was)
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
        with self._alone() as repo:
            prune(repo, kept, self.base)

    @property
    def _bare(self) -> Repo:
        """Our repository by itself: to be asked while there is no worktree."""
        return Repo(self.repo.git_dir)

    @contextmanager
    def _alone(self) -> Iterator[Repo]:
        """Our repository, with no other git of this worktree at work: not ours, and not one that a
        dead controller has left running, since its git processes have inherited the lock.
        """
        assert self.repo.index is not None
        with locked(self.repo.index.with_suffix(".flock")) as lock:
            self.repo.index.with_name(self.repo.index.name + ".lock").unlink(missing_ok=True)
            yield replace(self.repo, inherited=(lock,))

    def _taken(self, repo: Repo) -> Snapshot:
        try:
            found = self._look(repo)
        except WorldError:
            self._drop_index()
            found = self._look(repo)
        pin_snapshot(self._bare, found)
        return found

    def _look(self, repo: Repo) -> Snapshot:
        self.root.mkdir(parents=True, exist_ok=True)  # all its files are gone then, no more
        if not self._second():  # what was tracked before is kept, ignored or not
            repo.git("read-tree", self._last())
        seen = survey(self.root, self._second())
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
        assert self.repo.index is not None
        try:
            return self._bare.tree_of(self.repo.index.with_suffix(".last").read_text().strip())
        except (OSError, WorldError):
            return self.base

    def _remember(self, tree: str) -> None:
        """For when the index is lost: it would not know what is tracked and ignored since."""
        assert self.repo.index is not None
        place = self.repo.index.with_suffix(".last")
        if not place.exists() or place.read_text() != tree:
            place.write_text(tree)

    def _clear_for_git(self, repo: Repo, seen: Survey) -> None:
        """Git waits for ever at a FIFO called .gitignore, fails at one where it had a file, and
        can't follow a path of any length.
        """
        self._move_aside(seen.deep)
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
            self._move_aside(places)
            self._put_back(repo, (now.tree, wanted.tree), was, be)
            more.put_parts(repo, missing)
            self._move_aside(more.put_rest(repo, wanted.tree, was, be))
        return False

    def _put_back(self, repo: Repo, trees: tuple[str, str], was: Extras, be: Extras) -> None:
        """Bring the files from one tree to another, and nothing that git would remove without a
        word.
        """
        odd = [path for path, _ in was.modes if (self.root / path).is_dir()]
        more.put_modes(self.root, odd, {})  # a folder may be shut
        changed = repo.changed(*trees)
        self._move_aside(self._obstacles(changed))
        rules = [path for _, path in changed if path.rpartition("/")[2] == os.fsdecode(RULES)]
        if rules or was.rules != be.rules:
            self._put_rules(repo, trees[1], {*rules, *(path for path, _ in was.rules)}, be)
        repo.git("read-tree", "--reset", "-u", trees[1])

    def _put_rules(self, repo: Repo, tree: str, others: set[str], be: Extras) -> None:
        """Let the index say what the snapshot's own rules say: what they ignore is not ours to
        remove. What only the rules of now ignored has no place there, and is moved aside.
        """
        unseen = hidden(repo)
        repo.git("read-tree", tree)
        for path in others:
            if more.inside(self.root, path):
                (self.root / path).unlink(missing_ok=True)
        repo.git("checkout-index", "--force", "--quiet", "--", *(
            path for path in sorted(others) if repo.entry(tree, path)))
        for path, blob in be.rules:
            if more.inside(self.root, path):
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_bytes(repo.git("cat-file", "blob", blob))
        add_all(repo, be.nested)
        seen = repo.changed(tree, repo.git("write-tree").decode().strip())
        strangers = [path for letter, path in seen if letter == "A" and path in unseen]
        if strangers:
            forget(repo, strangers)
            self._move_aside(strangers)

    def _obstacles(self, changed: Iterable[tuple[str, str]]) -> Iterator[str]:
        """What git ignores and what stands where a file or a folder has to go.

        A link on the way is for git to replace: what lies behind it is not ours.
        """
        for letter, path in changed:
            parts = path.split("/")
            for length in range(1, len(parts)) if letter in "AT" else ():
                here = "/".join(parts[:length])
                if (self.root / here).is_symlink() or not (self.root / here).is_dir():
                    if (self.root / here).exists() and not (self.root / here).is_symlink():
                        yield here
                    break
            place = self.root / path
            if more.inside(self.root, path) and (
                    place.is_dir() and not place.is_symlink() if letter in "MT" else
                    letter == "A" and os.path.lexists(place)):
                yield path

    def _move_aside(self, paths: Iterable[str]) -> None:
        """Move files and folders out of the worktree; nothing of them is removed."""
        aside = self._aside()
        for path in dict.fromkeys(paths):
            if more.inside(self.root, path) and os.path.lexists(self.root / path):  # or it is gone
                (aside / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).rename(aside / path)

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
        aside = self._aside()
        if self.root.exists():
            self.root.rename(aside)
        beside.rename(self.root)
        if self._taken(repo) != wanted:
            raise WorldError(f"the worktree {self.root} can't be brought back to tree "
                             f"{wanted.tree}; what was there is in {aside}")

    def _set_aside(self) -> None:
        self.root.rename(self._aside())
        self._drop_index()

    def _aside(self) -> Path:
        return next(place for number in range(1, 10_000) if not (
            place := self.root.with_name(f"{self.root.name}.aside-{number}")).exists())

    def _drop_index(self) -> None:
        assert self.repo.index is not None
        self.repo.index.unlink(missing_ok=True)

    def _second(self) -> int:
        """The second in which the index was written; 0 when there is none."""
        assert self.repo.index is not None
        try:
            return int(self.repo.index.stat().st_mtime)
        except FileNotFoundError:
            return 0
