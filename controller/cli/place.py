"""Where a command works: the checkout around it, and the record in its `.agent-runtime` folder."""

import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from controller.core.canonical import JsonObject, digest, entries
from controller.core.errors import Damaged, SetupError, WorldError
from controller.core.governed import dated
from controller.core.head import Launch, RunId
from controller.settings import Settings, checkout_root
from controller.store.queries import Queries
from controller.store.sqlite import SqliteTables, open_tables

if TYPE_CHECKING:
    from controller.core.approval import Seal
    from controller.documents import Project
    from controller.repo import Repo
    from controller.store.people import Desk

RUNTIME = ".agent-runtime"
"""The folder of the record, in the checkout; ignored by Git."""


@dataclass(slots=True)
class SystemClock:
    """The machine's clock. `asleep` while somebody sleeps by it: nothing else is done then."""

    asleep: bool = False

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251  (this is the Clock port)

    def sleep(self, seconds: float) -> None:
        import time

        self.asleep = True
        try:
            time.sleep(seconds)
        finally:
            self.asleep = False


@dataclass(frozen=True, slots=True)
class Place:
    """One checkout with its record: where every command works."""

    root: Path
    settings: Settings
    tables: SqliteTables
    clock: SystemClock = field(default_factory=SystemClock)

    @property
    def database(self) -> Path:
        """The file of the record."""
        return self.root / RUNTIME / "oneshot.db"

    @property
    def user(self) -> "Repo":
        """The user's repository."""
        from controller.checkout import open_checkout

        return open_checkout(self.root)

    @property
    def queries(self) -> Queries:
        """The record, read."""
        return Queries(self.tables)

    @property
    def seal(self) -> "Seal":
        """What answers of people are signed with. Raises SetupError when the key is no secret."""
        from controller.keys import seal_of

        if self.settings.state.is_relative_to(self.root):
            raise SetupError(f"{self.settings.state}: the signing key must not lie in the "
                             "repository; set XDG_STATE_HOME to another folder")
        return seal_of(self.settings.state)

    @property
    def desk(self) -> "Desk":
        """The record, as people write to it."""
        from controller.store.people import Desk

        return Desk(self.tables, self.seal, self.settings.user)

    def launch(self, run: RunId) -> Launch:
        """A run as it goes on now: what was fixed when it started, under its newest contract and
        the state schema that it was migrated to. Raises Damaged when the contract is not signed.
        """
        fixed = self.queries.launch(run)
        return replace(fixed, documents={**fixed.documents, **self.documents(run)})

    def documents(self, run: RunId) -> JsonObject:
        """What of a run's documents is another now than when it started."""
        from controller.store.contracts import newest

        now: JsonObject = {"contract": newest(self.tables, self.seal, run)}
        try:
            schema = self.queries.artifact(self.queries.head(run).schema or "none")
        except Damaged:
            return now  # there is a way out of that, which needs no head
        return {**now, "state_schema": json.loads(schema)} if schema else now

    def folder(self, written: str) -> Path:
        """A folder as people write it: absolute, ~ or relative to the checkout."""
        home = self.settings.home
        return home / written[2:] if written.startswith("~/") else self.root / written

    def held_out(self, written: str) -> Path:
        """A folder of tests that no model may see. Raises SetupError when the repository has it."""
        found = self.folder(written)
        if found.is_relative_to(self.root):
            inside = str(found.relative_to(self.root))
            if self.user.entry("HEAD", inside):
                raise SetupError(f"held_out: {written} is part of the repository, so every model "
                                 "sees it; move it out, or let Git ignore it")
        return found

    @property
    def runs(self) -> Path:
        """The folder with one folder a run."""
        return self.root / RUNTIME / "runs"

    def cache(self, launch: Launch) -> Path:
        """The folder of a run's worktrees and of what its commands leave behind."""
        return self.settings.cache / (launch.folder or launch.run)

    def worktree(self, run: RunId) -> Path:
        """The worktree that a run has now."""
        row = self.tables.run(run)
        return self.cache(self.queries.launch(run)) / numbered("work", row.worktree if row else 0)

    def named(self, run: RunId, option: str = "") -> str:
        """How a command must name the run: not at all when it is the last one."""
        last = self.queries.runs()[-1:] == (run,)
        return "" if last else "".join(f" {part}" for part in (option, run) if part)

    def run(self, name: str | None) -> RunId:
        """The run that a person named by an unambiguous beginning; the last one by default."""
        known = self.queries.runs()
        if not known:
            raise SetupError("there is no run yet; `oneshot run` starts one")
        if name is None:
            return known[-1]
        found = [run for run in known if run == name] or [
            run for run in known if run.startswith(name)]
        if len(found) != 1:
            what = "several runs begin" if found else "no run begins"
            raise SetupError(f"{what} with {name!r}; there are: {', '.join(known[-8:])}")
        return found[0]


def numbered(name: str, number: int) -> str:
    """The name of one of several folders; the first has no number."""
    return f"{name}-{number}" if number else name


def branch_of(run: RunId) -> str:
    """The branch that a run's Git commits are delivered on."""
    return f"oneshot/{run}"


def open_place(folder: Path, settings: Settings, *, make: bool = False) -> Place:
    """The checkout around `folder`. Raises SetupError when there is no record and `make` is off."""
    root = checkout_root(folder.absolute())
    database = root / RUNTIME / "oneshot.db"
    if not make and not database.exists():
        raise SetupError("there is no run in this repository yet; `oneshot run` starts one")
    database.parent.mkdir(mode=0o700, exist_ok=True)
    ignore = database.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return Place(root, settings, open_tables(database))


def new_launch(place: Place, project: "Project") -> Launch:
    """What a run that starts now is fixed to: the documents, and the checkout's last Git commit."""
    from controller.checkout import refused

    try:
        base = place.user.commit("HEAD")
    except WorldError as fault:
        raise SetupError("the repository has no Git commit to start from; make a first one"
                         ) from fault
    why = refused(place.user)
    if why:
        raise SetupError(why)
    if place.user.ref("refs/heads/oneshot"):
        raise SetupError("the repository has a branch `oneshot`, so there can be none called "
                         "oneshot/<run>; rename it")
    goal, now = project.rules.contract.goal, place.clock.now()
    for item in project.rules.contract.constraints:
        if item.deadline and item.deadline <= now:
            raise SetupError(f"{item.id} ({item.governance.source}): the deadline {item.deadline} "
                             "is over; no step could begin")
    contract = dated(entries(project.documents["contract"]), now)
    return Launch(run_id(goal, base, now), goal, base, now,
                  {**project.documents, "contract": contract})


def run_id(goal: str, base: str, at: datetime) -> RunId:
    """The id of a run that starts now: some words of its goal, and a mark of its own."""
    words = re.sub(r"[^a-z0-9]+", "-", goal.lower()).strip("-").split("-")[:4]
    name = "-".join(words)[:40].strip("-") or "run"
    return RunId(f"{name}-{digest({'goal': goal, 'base': base, 'at': at.isoformat()})[:6]}")
