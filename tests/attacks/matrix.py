"""The attack matrix, printed: `python -m tests.attacks.matrix [--cases FILE] [--jobs N]`.

Every case through the real gate and executor, in each tier that can be built here. Exits with 1
when a verdict is wrong, anything got out of a worktree, or a process survived.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from controller.core.tier import Tier
from controller.process import supervise
from controller.sandbox.choice import Sandbox, choose, unprivileged
from controller.sandbox.profile import Bounds, Profile
from controller.sandbox.walls import confined
from controller.watching import Job
from tests.attacks.arena import removed
from tests.attacks.steps import Case
from tests.attacks.trial import Seen, tried

CASES = Path(__file__).with_name("cases.jsonl")
TIERS = (Tier.BUBBLEWRAP, Tier.LANDLOCK)
VERDICTS = ("contained", "refused", "parked", "allowed")
RUNS = 30  # of `true`, to tell what a sandbox costs


@dataclass(frozen=True, slots=True)
class Row:
    """One case in one tier."""

    case: Case
    tier: Tier
    seen: Seen


def read_cases(file: Path) -> list[Case]:
    """The cases of a file, one JSON object a line."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def main() -> None:
    """Try, print, exit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=Path, default=CASES, help="a file like attacks.jsonl")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    cases, folder = read_cases(asked.cases), Path(tempfile.mkdtemp(prefix="oneshot-attacks-"))
    folder.chmod(0o711)  # as root, commands run as somebody else
    try:
        sandboxes = [built(folder / "look", tier) for tier in TIERS]
        rows = [row for sandbox in sandboxes for row in _all(cases, sandbox, folder, asked.jobs)]
        print_table(rows, [ratio(sandbox, folder / "ratio") for sandbox in sandboxes])
    finally:
        removed(folder)
    wrong = [row for row in rows if not row.seen.right(row.case, row.tier)]
    for row in wrong:
        print(f"WRONG {row.case['id']} tier {row.tier}: {row.case['verdict']} expected, "
              f"{row.seen.verdict} seen {row.seen.harm} {row.seen.said[:300]!r}")
    print(f"{len(rows)} cases, {len(rows) - len(wrong)} right, {len(wrong)} wrong")
    sys.exit(1 if wrong or not rows else 0)


def built(folder: Path, tier: Tier) -> Sandbox:
    """The sandbox of a tier, tried. Raises NoSandbox where it can't be built."""
    return choose(folder, tier, Bounds(processes=200))


def _all(cases: list[Case], sandbox: Sandbox, folder: Path, jobs: int) -> Iterable[Row]:
    places = [folder / f"{sandbox.tier}-{number}" for number in range(len(cases))]
    with ProcessPoolExecutor(jobs) as pool:
        for case, seen in zip(cases, pool.map(partial(_one, sandbox), cases, places), strict=True):
            yield Row(case, sandbox.tier or Tier.NONE, seen)


def _one(sandbox: Sandbox, case: Case, place: Path) -> Seen:
    if sandbox.user is not None:  # each worker's own: a fork bomb in one is not to starve another
        sandbox = replace(sandbox, user=sandbox.user + os.getpid() % 100)
    return tried(case, sandbox, place)


def print_table(rows: list[Row], ratios: list[float]) -> None:
    """Area by tier by what was seen."""
    who = "root, whose commands run as " + str(unprivileged()) if os.getuid() == 0 else (
        f"an ordinary user, {os.getuid()}")
    print(f"as {who}")
    print(f"{'area':<10} tier " + "".join(f"{name:>11}" for name in VERDICTS) + f"{'other':>11}")
    counted = Counter((row.case["area"], row.tier, row.seen.verdict) for row in rows)
    for area in sorted({row.case["area"] for row in rows}):
        for tier in TIERS:
            numbers = [counted[area, tier, name] for name in VERDICTS]
            other = sum(count for (a, t, _), count in counted.items()
                        if (a, t) == (area, tier)) - sum(numbers)
            print(f"{area:<10} {tier:>4} " + "".join(f"{n:>11}" for n in [*numbers, other]))
    print(f"survivors after the end of a step: {sum(row.seen.survivors for row in rows)}")
    for tier, found in zip(TIERS, ratios, strict=True):
        print(f"a command in tier {tier} takes {found:.1f} x a plain one (`true`, {RUNS} times)")


def ratio(sandbox: Sandbox, folder: Path) -> float:
    """What a command costs in a sandbox, as a ratio to a plain one."""
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name).chmod(0o777)
    profile = Profile(folder / "work", folder / "home", folder / "tmp", user=sandbox.user)

    def inside() -> None:
        with confined(sandbox.tier, profile, ["true"], {"PATH": os.defpath}) as walls:
            supervise(Job(walls.argv, walls.cwd, walls.env, folder / "said",
                          inherited=walls.fds, gone=walls.gone))

    def plain() -> None:
        supervise(Job(["true"], folder, {"PATH": os.defpath}, folder / "said"))

    return _median(inside) / _median(plain)


def _median(act: Callable[[], None]) -> float:
    found = []
    for _ in range(RUNS):
        started = time.perf_counter()
        act()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


if __name__ == "__main__":
    main()
