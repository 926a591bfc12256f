"""The kill matrix, printed: `python -m tests.crash.matrix [--every N] [--jobs N]`.

Every boundary of a step, for every effect class; every system call of a three-step run that changes
something on the disk; random moments. Exits with 1 when anything was lost, doubled or half done.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.crash import actors
from tests.crash.faults import (
    FAULTS,
    ROLLBACK,
    Case,
    Harm,
    at_boundary,
    at_random,
    at_system_call,
    boundaries,
    in_recovery,
    in_rollback,
    system_calls,
)
from tests.crash.judge import Judge, Judgement, judged, rolled_back, tried
from tests.crash.stage import Stage, staged, template

CLASSES = ("pure", "workspace", "external")
RECOVERY = 14  # boundaries between finding an effect open and having concluded it, and some more
RANDOM = 60  # kills at random moments

How = Callable[[Stage, Case], Harm]
Plan = tuple[Case, How, Judge]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A case with its judgement."""

    case: Case
    judgement: Judgement


def main() -> int:
    """Try every case and print what became of them."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="crash-matrix-"))
    started = time.monotonic()
    try:
        source = template(folder / "template")
        plans = [*boundary_cases(source, folder), *call_cases(source, folder), *random_cases(),
                 *second_cases(source, folder)]
        verdicts = _tried_by_many(source, folder, plans[::options.every], options.jobs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _print(verdicts)
    print(f"{time.monotonic() - started:.0f} s")
    return _sum_up(verdicts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="try every n-th case only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="at the same time")
    return parser.parse_args()


def boundary_cases(source: Path, folder: Path) -> Iterable[Plan]:
    """The second step of three, so that there is something before and after it."""
    for scenario in CLASSES:
        places = boundaries(staged(source, folder / f"dry-{scenario}", scenario), step=2)
        for number, name in places:
            for fault in FAULTS:
                yield Case(scenario, fault, name, number), at_boundary, judged
    for number, name in boundaries(staged(source, folder / "dry-blind", "blind"), step=2):
        yield Case("blind", "SIGKILL", name, number), at_boundary, judged


def call_cases(source: Path, folder: Path) -> Iterable[Plan]:
    """SIGKILL at every call; the errors of a disk at every fifth."""
    counted = system_calls(staged(source, folder / "dry-mixed", "mixed"))
    calls = [(name, number) for name, times in counted for number in range(1, times + 1)]
    for fault, every in (("SIGKILL", 1), ("EIO", 5), ("ENOSPC", 5)):
        for name, number in calls[::every]:
            yield Case("mixed", fault, name, number), at_system_call, judged


def random_cases() -> Iterable[Plan]:
    for number in range(RANDOM):
        yield Case("mixed", "SIGKILL", "a random moment", number), at_random, judged


def second_cases(source: Path, folder: Path) -> Iterable[Plan]:
    """A second death, while the first is being recovered from; and deaths of a rollback."""
    for scenario in ("workspace", "external", "blind"):
        dry = staged(source, folder / f"dry-again-{scenario}", scenario)
        (first,) = (place for place, name in boundaries(dry, step=2) if name == "after perform")
        for number in range(RECOVERY):
            yield Case(scenario, "SIGKILL", "in recovery", number, first), in_recovery, judged
    stage = staged(source, folder / "dry-rollback", "workspace")
    actors.wait(stage, actors.start(stage, *actors.new(stage)))
    for name, times in system_calls(stage, ROLLBACK):
        for number in range(1, times + 1, 5):
            yield Case("workspace", "SIGKILL", name, number), in_rollback, rolled_back


def _tried_by_many(source: Path, folder: Path, plans: list[Plan], jobs: int) -> list[Verdict]:
    """Share the cases among processes; each writes what it found, a line a case."""
    workers = []
    for job in range(jobs):
        pid = os.fork()
        if pid == 0:
            _work(source, folder / f"job-{job}", plans[job::jobs])
        workers.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
    if any(codes):
        raise SystemExit(f"a worker ended with {codes}")
    lines = [line for job in range(jobs)
             for line in (folder / f"job-{job}/found").read_text().splitlines()]
    return [Verdict(Case(**found["case"]), Judgement(**found["judgement"]))
            for found in map(json.loads, lines)]


def _work(source: Path, folder: Path, plans: list[Plan]) -> None:
    code = 1
    try:
        folder.mkdir()
        with (folder / "found").open("w") as found:
            for number, (case, how, judge) in enumerate(plans):
                verdict = Verdict(case, tried(source, folder / str(number), case, how, judge))
                found.write(json.dumps(asdict(verdict)) + "\n")
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def _print(verdicts: list[Verdict]) -> None:
    """A row a place and fault, with a cell a scenario: cases, and what went wrong in them."""
    scenarios = (*CLASSES, "blind", "mixed")
    print(f"{'where':<18} {'fault':<8} " + " ".join(f"{name:>11}" for name in scenarios))
    rows = dict.fromkeys((v.case.where, v.case.fault) for v in verdicts)
    for where, fault in sorted(rows):
        cells = []
        for scenario in scenarios:
            found = [v.judgement for v in verdicts if (
                v.case.where, v.case.fault, v.case.scenario) == (where, fault, scenario)]
            cells.append(f"{_cell(found):>11}")
        print(f"{where:<18} {fault:<8} " + " ".join(cells))
    print("a cell: cases, then L lost, D doubled, H half done, ? unknown, ! unclear")
    for verdict in verdicts:
        for kind in ("lost", "doubled", "half_done", "unclear"):
            for text in getattr(verdict.judgement, kind):
                print(f"{kind}: {verdict.case}: {text}")


def _cell(found: list[Judgement]) -> str:
    marks = {"L": sum(map(bool, (j.lost for j in found))),
             "D": sum(map(bool, (j.doubled for j in found))),
             "H": sum(map(bool, (j.half_done for j in found))),
             "?": sum(j.unknown for j in found), "!": sum(map(bool, (j.unclear for j in found)))}
    told = "".join(f" {number}{mark}" for mark, number in marks.items() if number)
    return f"{len(found)}{told}" if found else "-"


def _sum_up(verdicts: list[Verdict]) -> int:
    found = [verdict.judgement for verdict in verdicts]
    lost, doubled, half, unclear = (sum(map(bool, kind)) for kind in (
        [j.lost for j in found], [j.doubled for j in found], [j.half_done for j in found],
        [j.unclear for j in found]))
    if unclear:
        print(f"{unclear} cases ended without a clear sentence")
    print(f"{len(found)} cases, {lost} lost, {doubled} doubled, {half} half done, "
          f"{sum(j.unknown for j in found)} unknown")
    return 1 if lost or doubled or half or unclear else 0


if __name__ == "__main__":
    sys.exit(main())
