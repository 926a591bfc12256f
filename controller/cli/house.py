"""Where one run lives: its own repository, its worktree, and the folders of its commands."""

from dataclasses import dataclass, replace
from pathlib import Path

from controller.checkout import borrow, create
from controller.cli.place import Place, branch_of, numbered
from controller.core.canonical import JsonObject, entries
from controller.core.errors import WorldError
from controller.core.facts import Snapshot
from controller.core.head import Launch
from controller.core.projection import branch_head, tree_of
from controller.folders import remove
from controller.repo import ABSENT, Repo
from controller.snapshots import Snapshots
from controller.transfer import keep_objects


@dataclass(frozen=True, slots=True)
class House:
    """One run's folders. The worktree is disposable, and each may have a number: a controller that
    was taken over and may wake up goes on in the one that it had.
    """

    place: Place
    launch: Launch

    @property
    def cache(self) -> Path:
        """The folder of worktrees and of what commands leave behind."""
        return self.place.cache(self.launch)

    @property
    def mark(self) -> str:
        """What every process that works for this run is marked with."""
        return str(self.cache)

    @property
    def git_dir(self) -> Path:
        """The run's own repository."""
        return self.place.runs / self.launch.run / "repo.git"

    def scratch(self, number: int) -> Path:
        """Home, temporary folder and output of commands."""
        folder = self.cache / numbered("scratch", number)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def bare(self) -> Repo:
        """The run's own repository, made when missing."""
        if not self.git_dir.is_dir():
            half = self.git_dir.with_name("repo.new")
            remove(half)
            create(half, self.place.user)
            half.rename(self.git_dir)
        borrow(self.git_dir, self.place.user)
        return Repo(self.git_dir)

    def repo(self) -> Repo:
        """The run's own repository, with its branch where the record has it."""
        repo, branch = self.bare(), f"refs/heads/{branch_of(self.launch.run)}"
        head = branch_head(self._state()) or self.launch.base
        if head != self.launch.base and repo.ref(branch) is None:  # the user's has what it needs
            repo.move_ref(branch, repo.commit(head), ABSENT)
        return repo

    def worktree(self, number: int) -> Snapshots:
        """The worktree, made anew when missing: from the one before it, else from the record."""
        self.repo()
        found = self._view(number)
        if not found.root.is_dir():
            found.restore(self._before(number) or self._recorded())
            found.root.chmod(0o700)
        return found

    def take_over(self, other: "House", snapshot: Snapshot, commit: str,
                  *trees: str) -> None:
        """Begin where another run was: with a snapshot of its worktree, its Git commit, and trees
        that its state names.
        """
        repo, base = self.repo(), self.launch.base
        wanted = [id for id in (snapshot.tree, snapshot.extras, commit, *trees) if id]
        keep_objects(repo, other.bare(), base, *wanted)
        if commit != base:
            repo.move_ref(f"refs/heads/{branch_of(self.launch.run)}", commit, ABSENT)
        self.settle(snapshot)

    def settle(self, snapshot: Snapshot) -> None:
        """Make the first worktree, with what somebody left in it elsewhere."""
        self._view(0).restore(snapshot)

    def _view(self, number: int) -> Snapshots:
        index = self.git_dir / f"{numbered('worktree', number)}.index"
        work = self.cache / numbered("work", number)
        return Snapshots(Repo(self.git_dir, work, index), self.launch.base)

    def _before(self, number: int) -> Snapshot | None:
        """What the worktree holds that another controller may still be at work in: it may have
        been changed by a person.
        """
        older = [work for other in range(number)
                 if (work := self.cache / numbered("work", other)).is_dir()]
        if not older:
            return None
        mine = self._view(number)
        try:
            return replace(mine, repo=replace(mine.repo, work_tree=older[-1])).take()
        except (WorldError, OSError):
            return None

    def _recorded(self) -> Snapshot:
        row = self.place.tables.run(self.launch.run)
        tree = tree_of(self._state()) or Repo(self.git_dir).tree_of(self.launch.base)
        return Snapshot(tree, str(row.head.get("extras", "")) if row else "")

    def _state(self) -> JsonObject:
        row = self.place.tables.run(self.launch.run)
        return entries(row.head["state"]) if row else {}
