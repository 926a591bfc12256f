"""Print what a durable step costs here and in two peers, LangGraph and DBOS, all on SQLite.

    python -m venv .venv-bench && .venv-bench/bin/pip install -e '.[bench]'
    .venv-bench/bin/python scripts/bench_store.py [--steps N] [--rounds N]

Every variant runs alone in a fresh process that kills itself with SIGKILL after its last step;
another fresh process resumes from what is on the disk. The floor is two fsynced transactions
(intent, then state and observation); ours is the whole step: gates, prompt, journal, audit, commit.
Times are medians; fsyncs a step come from strace, as the difference between two runs.
"""

import argparse
import json
import operator
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scripts.bench_variants import VARIANTS, Variant

PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "dbos")
FEW, MANY = 20, 60
LIMIT = 1800.0  # seconds a child may take


def main() -> None:
    """Measure every variant in turns, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-store-", dir=Path.cwd()))
    try:
        rounds = [one_round(asked.steps, folder / str(at)) for at in range(asked.rounds)]
    finally:
        shutil.rmtree(folder)
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES),
          f"SQLite {sqlite3.sqlite_version}, {asked.steps} steps, {asked.rounds} rounds", sep=", ")
    print(f"{'':<36} ms/step  {'range':>11}  x floor  last/first  bytes/step  fsyncs/step"
          "  resume ms  process ms")
    for key, variant in VARIANTS.items():
        show(variant.name, [rows[key] for rows in rounds])


def one_round(steps: int, folder: Path) -> dict[str, dict[str, float]]:
    """The numbers of every variant, one after the other, against the floor beside them."""
    rows = {key: measure(key, steps, folder / key) for key in VARIANTS}
    for row in rows.values():
        row["ratio"] = row["step_ms"] / rows["floor"]["step_ms"]
    shutil.rmtree(folder)
    return rows


def measure(key: str, steps: int, folder: Path) -> dict[str, float]:
    """All the numbers of a variant."""
    (folder / "data").mkdir(parents=True)
    took = spawn(folder, "child", key, steps, folder / "data", ends=-signal.SIGKILL)
    disk = size(folder / "data", folder / "copy")
    started = time.perf_counter()
    found: dict[str, float] = spawn(folder, "resume", key, folder / "data")
    process = time.perf_counter() - started
    assert len(took) == found["steps"] == steps, f"{key}: a step was lost: {found}"
    synced = fsyncs(key, MANY, folder / "many") - fsyncs(key, FEW, folder / "few")
    tenth = max(1, steps // 10)
    first, last = statistics.median(took[:tenth]), statistics.median(took[-tenth:])
    return found | {
        "step_ms": statistics.median(took) * 1000, "growth": last / first,
        "bytes": disk / steps, "fsyncs": synced / (MANY - FEW), "process_ms": process * 1000}


def spawn(folder: Path, *args: object, under: tuple[str, ...] = (), ends: int = 0) -> Any:
    """What a child says in its last line."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8",
           "LANGCHAIN_TRACING_V2": "false", "LANGSMITH_TRACING": "false"}
    argv = [*under, sys.executable, __file__, *map(str, args)]
    child = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, check=False,
                           timeout=LIMIT)
    if child.returncode != ends:
        raise SystemExit(f"{argv} ended with {child.returncode}:\n{child.stderr}")
    return json.loads(child.stdout.splitlines()[-1])


def fsyncs(key: str, steps: int, folder: Path) -> int:
    """The fsyncs of a whole run, as strace counts them."""
    (folder / "data").mkdir(parents=True)
    under = ("strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", str(folder / "calls"))
    spawn(folder, "child", key, steps, folder / "data", under=under, ends=-signal.SIGKILL)
    rows = map(str.split, (folder / "calls").read_text().splitlines())
    return sum(int(row[3]) for row in rows if row and row[-1] in {"fsync", "fdatasync"})


def size(folder: Path, copy: Path) -> int:
    """The bytes on disk once each database has taken in its log; done on a copy."""
    shutil.copytree(folder, copy)
    for path in list(copy.iterdir()):
        if path.suffix == ".db":
            base = sqlite3.connect(path)
            base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            base.close()
    return sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())


def show(name: str, rows: list[dict[str, float]]) -> None:
    """A line of the table: the median over the rounds; of the times, their range too."""
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    times = [row["step_ms"] for row in rows]
    print(f"{name:<36} {middle['step_ms']:7.2f}  {min(times):5.2f}-{max(times):5.2f}"
          f"  {middle['ratio']:7.1f}  {middle['growth']:10.2f}  {middle['bytes']:10,.0f}"
          f"  {middle['fsyncs']:11.2f}  {middle['resume_ms']:9.1f}  {middle['process_ms']:10.0f}")


def child(variant: Variant, steps: int, folder: Path) -> None:
    """Do the steps, tell the seconds that each took, and die without closing anything."""
    stamps = variant.run(steps, folder)
    print(json.dumps(list(map(operator.sub, stamps[1:], stamps))), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def resume(variant: Variant, folder: Path) -> None:
    """Tell how far the variant came, and how long it took to find out."""
    for module in variant.imports:
        __import__(module)
    started = time.perf_counter()
    steps = variant.resume(folder)
    taken = (time.perf_counter() - started) * 1000
    print(json.dumps({"steps": steps, "resume_ms": taken}), flush=True)
    os._exit(0)  # no orderly end: DBOS has threads


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["child", key, steps, folder]:
            child(VARIANTS[key], int(steps), Path(folder))
        case ["resume", key, folder]:
            resume(VARIANTS[key], Path(folder))
        case _:
            main()
