"""Print what a step costs by itself, and what `oneshot status` costs to start, as ratios.

    .venv/bin/python scripts/bench_step.py

The floor of a step is two fsynced SQLite transactions on the same disk (journal, then commit).
Floor and step are measured in turns, so that a busy machine slows both.
"""

import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from controller.authorities.git import Git
from controller.checkout import create, open_checkout
from controller.core.config import Limits
from controller.core.facts import Snapshot
from controller.core.head import Head
from controller.loop import step as one_step
from controller.repo import Repo
from controller.snapshots import Snapshots
from controller.store.projections import Projections
from controller.store.sqlite import open_tables
from controller.store.statements import MAKING, PRAGMAS
from controller.testing.clock import FixedClock
from controller.testing.world import RUN, World, command, rules

STEPS = 200
STARTS = 15
FILES = 300


def main() -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="bench-step-", dir=Path.cwd()))
    try:
        step(folder)
        authority(folder)
        start(folder)
    finally:
        shutil.rmtree(folder)


def step(folder: Path) -> None:
    """The controller's own work in a step against the floor."""
    floor, world = two_transactions(folder), sqlite_world(folder)
    projections = Projections(world.queries, folder / "runs")
    floors, steps, files = [], [], []
    ctl = world.controller()
    with world.lease() as lease:
        for _ in range(STEPS):
            floors.append(timed(floor))
            steps.append(timed(lambda: one_step(ctl, lease)))
            files.append(timed(lambda: projections.catch_up(RUN)))
    middle = statistics.median(floors)
    row("two fsynced SQLite transactions (the floor)", middle, 1.0)
    row("a step: gates, prompt, journal, commit", statistics.median(steps),
        statistics.median(steps) / middle)
    row("  and its files (state.json, audit.jsonl)", statistics.median(files),
        statistics.median(files) / middle)
    first, last = statistics.median(steps[:STEPS // 10]), statistics.median(steps[-STEPS // 10:])
    print(f"  last tenth of the steps / first tenth: {last / first:.2f}")
    sqlite3.connect(folder / "world.db").execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = (folder / "world.db").stat().st_size
    print(f"  bytes a step on disk: {size / STEPS:.0f}")


def authority(folder: Path) -> None:
    """One look of the Git authority against one `git status` of the same tree."""
    user = folder / "user"
    (user / "src").mkdir(parents=True)
    for number in range(FILES):
        (user / f"src/f{number}.py").write_text(f"x = {number}\n" * 20)
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_AUTHOR_NAME": "b",
           "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@b"}
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "b"]):
        subprocess.run(["git", *args], cwd=user, env=env, check=True)
    checkout = open_checkout(user)
    create(folder / "repo.git", checkout)
    (folder / "work").mkdir()
    base = checkout.commit("HEAD")
    ours = Repo(folder / "repo.git", folder / "work", folder / "repo.git/w.index")
    snapshots = Snapshots(ours, base)
    snapshots.restore(Snapshot(checkout.tree_of(base)))
    git = Git(snapshots, checkout, "oneshot/bench", base, FixedClock())
    head = Head(RUN, 0, {}, "")
    bare, looks = [], []
    for _ in range(30):
        bare.append(timed(lambda: subprocess.run(
            ["git", "status", "--porcelain=v2", "-uall"], cwd=user, env=env, check=True,
            stdout=subprocess.DEVNULL)))
        looks.append(timed(lambda: git.observe(head)))
    row(f"`git status` of {FILES} files", statistics.median(bare), 1.0)
    row("  one look of the Git authority (exact tree)", statistics.median(looks),
        statistics.median(looks) / statistics.median(bare))


def start(folder: Path) -> None:
    """`oneshot status` against a bare click program."""
    bare = folder / "bare.py"
    bare.write_text("import click\n@click.command()\ndef main():\n    click.echo('hi')\nmain()\n")
    repo = folder / "user"
    (repo / ".agent-runtime").mkdir()
    world = World(tables=open_tables(repo / ".agent-runtime/oneshot.db"))
    world.model.replies(command("true"))
    world.go(steps=1)
    env = {"PATH": os.defpath, "HOME": str(folder)}
    oneshot = Path(sys.executable).with_name("oneshot")
    bares, statuses = [], []
    for _ in range(STARTS):
        bares.append(timed(lambda: subprocess.run([sys.executable, str(bare)], env=env, check=True,
                                                  stdout=subprocess.DEVNULL)))
        statuses.append(timed(lambda: subprocess.run(
            [str(oneshot), "status"], cwd=repo, env=env, check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)))
    row("a bare click program", statistics.median(bares), 1.0)
    row("  oneshot status", statistics.median(statuses),
        statistics.median(statuses) / statistics.median(bares))


def two_transactions(folder: Path) -> Callable[[], None]:
    """Journal, then commit: the least that a durable step can do."""
    floor = sqlite3.connect(folder / "floor.db", isolation_level=None)
    for pragma in (*MAKING, *PRAGMAS):
        floor.execute(pragma)
    floor.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
    text = "x" * 2000

    def both() -> None:
        for _ in range(2):
            floor.execute("BEGIN IMMEDIATE")
            floor.execute("INSERT INTO t (text) VALUES (?)", (text,))
            floor.execute("COMMIT")

    return both


def sqlite_world(folder: Path) -> World:
    """A run on a real database whose model and actions take no time."""
    world = World(tables=open_tables(folder / "world.db"),
                  rules=rules(limits=Limits(steps=None)))
    for number in range(STEPS):
        world.model.replies(command(f"echo {number}"),
                            {"facts": {f"f{number % 40}": {"text": f"fact {number} " * 20}}})
    world.open()
    return world


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def row(name: str, seconds: float, ratio: float) -> None:
    """One line of the table."""
    print(f"{name:<48} {seconds * 1000:8.2f} ms  {ratio:6.2f} x")


if __name__ == "__main__":
    main()
