"""Print what an authority refresh costs, as ratios to one bare `git status` of the same tree.

    .venv/bin/python scripts/bench_refresh.py [FILES…]

For each number of files (200, 5,000 and 60,000 by default) a repository is made, and a run's
worktree of it. `git status` and the refresh are measured in turns, so that a busy machine slows
both:

    same     nothing has changed since the last refresh
    one      one file has changed: the exact tree is made anew
    hundred  a hundred files have changed
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from controller.authorities.git import Git
from controller.checkout import create, open_checkout
from controller.core.facts import Snapshot
from controller.core.head import Head
from controller.core.projection import as_state
from controller.repo import Repo
from controller.snapshots import Snapshots
from controller.testing.clock import FixedClock
from controller.testing.world import RUN

TURNS = 9
A_FOLDER = 40  # files in one


def main() -> None:
    """Measure and print."""
    sizes = [int(word.replace(",", "")) for word in sys.argv[1:]] or [200, 5_000, 60_000]
    print(f"{'files':>7} {'git status':>11} {'same':>6} {'one':>6} {'hundred':>8}")
    for files in sizes:
        folder = Path(tempfile.mkdtemp(prefix="bench-refresh-", dir=Path.cwd()))
        try:
            status, ratios = measured(folder, files)
        finally:
            shutil.rmtree(folder)
        print(f"{files:>7,} {status * 1000:>8.1f} ms " + " ".join(
            f"{ratio:>{width}.2f}" for ratio, width in zip(ratios, (6, 6, 8), strict=True)))


def measured(folder: Path, files: int) -> tuple[float, list[float]]:
    """The median seconds of `git status`, and of each kind of refresh its ratio to that."""
    user = repository(folder / "user", files)
    create(folder / "repo.git", user)
    work = folder / "work"
    work.mkdir()
    base = user.commit("HEAD")
    ours = Repo(folder / "repo.git", work, folder / "repo.git/worktree.index")
    snapshots = Snapshots(ours, base)
    snapshots.restore(Snapshot(ours.tree_of(base)))
    git = Git(snapshots, user, "oneshot/run-1", base, FixedClock())
    source = git.observe(Head(RUN, 0, {}, "")).source
    head = Head(RUN, 0, {"source_authority": as_state(source, {})}, "")
    waited_out()
    git.observe(head)
    status = lambda: bare_status(folder / "user")  # noqa: E731
    floors, found = [], []
    for changed in (0, 1, 100):
        spent = []
        for turn in range(TURNS):
            touch(work, files, changed, turn)
            waited_out()
            floors.append(timed(status))
            spent.append(timed(lambda: git.observe(head)))
        found.append(statistics.median(spent))
    floor = statistics.median(floors)
    return floor, [seconds / floor for seconds in found]


def repository(place: Path, files: int) -> Repo:
    """A checkout with so many files, as one Git commit."""
    for number in range(files):
        file = place / path_of(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"file {number}\n" * 20)
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b",
           "GIT_COMMITTER_EMAIL": "b@b"}
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        subprocess.run(["git", *args], cwd=place, env=env, check=True)
    return open_checkout(place)


def path_of(number: int) -> str:
    """Where the file of that number lies."""
    folder = number // A_FOLDER
    return f"src/{folder // 20}/{folder}/file_{number}.py"


def touch(work: Path, files: int, count: int, turn: int) -> None:
    """Change so many files of a worktree."""
    for number in range(0, files, max(1, files // count)) if count else ():
        (work / path_of(number)).write_text(f"changed in turn {turn}\n")


def waited_out() -> None:
    """Let the second of the last write be over, as it is after a model call."""
    time.sleep(1.05)


def bare_status(place: Path) -> None:
    """`git status` as anybody would call it."""
    subprocess.run(["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z",
                    "--untracked-files=all"], cwd=place, capture_output=True, check=True,
                   env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})


def timed(act: Callable[[], object]) -> float:
    """Seconds that it takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
