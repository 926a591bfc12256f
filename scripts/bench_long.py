"""Print whether step N costs what step 1 costs: time and bytes by tenths, and the time to resume.

    .venv/bin/python scripts/bench_long.py [--steps 10000] [--edits]

The real controller over a real repository with the scripted adapter: every step looks at Git
twice, reads a file (or, with --edits, changes one), and commits. Resuming is a fresh process that
takes one step, at 100 steps and at the end.
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from controller.cli.house import House
from controller.cli.place import Place, new_launch, open_place
from controller.cli.tidy import Tidy
from controller.cli.wiring import build, build_models, held, journal
from controller.core.head import Launch
from controller.documents import of_documents
from controller.launch import launch
from controller.loop import run
from controller.project import read_project
from controller.sandbox.choice import NO_COMMANDS
from controller.settings import Settings

EARLY = 100
RESUMES = 9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--edits", action="store_true", help="change a file in every step")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-long-", dir=Path.cwd()))
    try:
        measure(folder, asked.steps, edits=asked.edits)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, steps: int, *, edits: bool) -> None:
    """Run to EARLY, resume, run to the end, resume."""
    place, fixed = opened(folder, steps, edits=edits)
    tenth = steps // 10
    moments, sizes = go(place, fixed, EARLY - RESUMES, new=True)
    early = resumed(folder)
    more = go(place, fixed, steps - EARLY)
    moments, sizes = moments + more[0], sizes + more[1]
    late = resumed(folder)
    first, last = (statistics.median(part) * 1000 for part in (moments[:tenth], moments[-tenth:]))
    print(f"{steps} steps, {'an edit' if edits else 'a read'} each")
    print(f"ms a step        first tenth {first:8.2f}   last tenth {last:8.2f}   "
          f"ratio {last / first:.2f}")
    one, two = growth(sizes[:tenth]), growth(sizes[-tenth:])
    print(f"bytes a step     first tenth {one:8.0f}   last tenth {two:8.0f}   "
          f"ratio {two / one:.2f}")
    print(f"ms to resume     at {EARLY:<8} {early:9.0f}   at {steps:<7} {late:10.0f}   "
          f"ratio {late / early:.2f}")
    objects = sum(file.stat().st_size for file in House(place, fixed).git_dir.rglob("*")
                  if file.is_file())
    print(f"repo.git at the end: {objects / 1e6:.1f} MB")


def opened(folder: Path, steps: int, *, edits: bool) -> tuple[Place, Launch]:
    """A checkout with a run that no limit ends, and what the model says in it."""
    repo = folder / "repo"
    (repo / ".agent-contract").mkdir(parents=True)
    (repo / "a.txt").write_text("x\n")
    for name, text in (
            ("intent-contract", "goal: Go on.\nsuccess_criteria: {c: {check: {file: none}}}\n"),
            ("policy", "{}\n"),
            ("config", f"model: {{adapter: scripted}}\nlimits: {{steps: {steps + RESUMES}}}\n")):
        (repo / f".agent-contract/{name}.yaml").write_text(text)
    git = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL":
           "b@b", "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@b"}
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "b"]):
        subprocess.run(["git", *args], cwd=repo, env=git, check=True)
    with (repo / "cassette.jsonl").open("w") as cassette:
        for number in range(steps + RESUMES):
            cassette.write(json.dumps({"reply": reply(number, edits=edits)}) + "\n")
    settings = Settings(folder / "home", folder / "home/.cache/oneshot", folder / "home/state",
                        os.defpath, {})
    place = open_place(repo, settings, make=True)
    project = read_project(place.root)
    config = project.documents["config"]
    assert isinstance(config, dict)
    config["model"] = {"adapter": "scripted", "cassette": "cassette.jsonl"}
    return place, new_launch(place, project)


def reply(number: int, *, edits: bool) -> dict[str, object]:
    """What the model says in a step: something new each time, so that nothing is a repeat."""
    action: dict[str, object] = {"kind": "read", "files": [
        {"path": "a.txt", "first": 1, "last": number + 1}]}
    if edits:
        action = {"kind": "edit", "changes": [
            {"op": "write", "path": f"f{number % 50}.txt", "content": f"{number}\n" * 20}]}
    return {"expected_version": number, "action": action, "state_patch": {"facts": {
        f"f{number % 20}": {"text": f"fact {number} " * 20}}}}


def go(place: Place, fixed: Launch, steps: int, *, new: bool = False,
       ) -> tuple[list[float], list[int]]:
    """(seconds of each step, bytes of the database after it)."""
    stamps, sizes = [time.perf_counter()], []
    tidy = Tidy(place)

    def written(_: str) -> None:
        stamps.append(time.perf_counter())
        sizes.append(bytes_of(place))

    store = journal(place, written, tidy.written)
    models = build_models(place, fixed, of_documents(fixed.documents).config)
    if new:
        launch(build(place, fixed, models, store, NO_COMMANDS))
    with held(place, fixed.run, store) as lease:
        tidy.snapshots = House(place, fixed).worktree(lease.worktree)
        stamps[:] = [time.perf_counter()]
        run(build(place, fixed, models, store, NO_COMMANDS, lease), lease, steps)
    return [after - before for before, after in pairwise(stamps)], sizes


def bytes_of(place: Place) -> int:
    """The size of the database, without what its log has beside it."""
    connection: sqlite3.Connection = place.tables.connection
    pages, page = (connection.execute(f"PRAGMA {name}").fetchone()[0]
                   for name in ("page_count", "page_size"))
    return int(pages) * int(page)


def growth(sizes: list[int]) -> float:
    """Bytes a step, over some steps."""
    return (sizes[-1] - sizes[0]) / max(1, len(sizes) - 1)


def resumed(folder: Path) -> float:
    """The median of the milliseconds that a fresh process needs to resume and take one step."""
    env = {"PATH": os.defpath, "HOME": str(folder / "home")}
    oneshot = Path(sys.executable).with_name("oneshot")
    taken = []
    for _ in range(RESUMES):
        started = time.perf_counter()
        subprocess.run([str(oneshot), "resume", "--quiet", "--steps", "1"], cwd=folder / "repo",
                       env=env, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
