"""What a check has left: its report and its coverage, found by a pattern, never behind a link."""

import os
from pathlib import Path

from controller.core.contract import CommandCheck
from controller.core.glob import matches
from controller.core.observation import first_line
from controller.core.redact import Redactor
from controller.core.reports import LARGEST, Unreadable, junit, line_coverage, summary, tap
from controller.core.results import Result, Results, results_of

REPORT = "ONESHOT_REPORT"
"""The variable that names the folder, outside the worktree, where a check may write its report."""

TAP = "tap"
"""The pattern that is none: the report is the output itself."""

_FILES = 2000  # of one report
_NAME = 1000  # characters of a test's name


def written(root: Path, pattern: str) -> list[Path]:
    """The regular files below a folder that match a pattern, by name; none of an absurd size."""
    found = []
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            place = Path(folder, name)
            rest = str(place.relative_to(root))
            if matches(rest, (f"/{pattern.removeprefix('./')}",)) and _plain(place):
                found.append(place)
    return sorted(found)


def results_in(check: CommandCheck, output: str, folder: Path, report: Path, redactor: Redactor,
               mark: str = "") -> tuple[Results | None, list[str]]:
    """What the report says of each test but the one with our mark, and what is wrong with it."""
    pattern = check.tests.report or f"${REPORT}/junit.xml"
    if pattern == TAP:
        return _shown(tap(output), redactor, ""), []
    places = _found(pattern, folder, report)
    if not places and not check.tests.report:
        return _without_one(summary(output)) if mark else summary(output), []
    if not places:
        return None, [f"there is no report {pattern}"]
    if len(places) > _FILES or sum(place.stat().st_size for place in places) > LARGEST:
        return None, [f"the report {pattern} is too large to be read"]
    try:
        whole = [item for place in places for item in junit(place.read_bytes()).tests.items()]
    except Unreadable as why:
        return None, [f"the report {pattern} can't be read: {why}"]
    return _shown(results_of(whole), redactor, mark), []


def coverage_in(pattern: str, folder: Path, report: Path) -> tuple[float | None, list[str]]:
    """The share of lines that are covered, when it is asked for, and what is wrong with it."""
    if not pattern:
        return None, []
    places = _found(pattern, folder, report)
    if len(places) != 1:
        many = f"{len(places)} files are" if places else "there is no"
        return None, [f"{many} coverage report {pattern}"]
    try:
        return line_coverage(places[0].read_bytes()), []
    except Unreadable as why:
        return None, [f"the coverage report {pattern} can't be read: {why}"]


def _without_one(results: Results | None) -> Results | None:
    """Sums without the test of ours, which has passed."""
    ids = [id for id, result in (results.tests if results else {}).items()
           if result is Result.PASSED]
    return results and Results({id: result for id, result in results.tests.items()
                                if id not in ids[-1:]})


def _shown(results: Results, redactor: Redactor, mark: str) -> Results:
    """The results as they may be kept: names are text of the code under test."""
    return results_of((_name(id, redactor), result) for id, result in results.tests.items()
                      if not mark or mark not in id)


def _name(id: str, redactor: Redactor) -> str:
    return first_line(redactor.text(id), _NAME)


def _found(pattern: str, folder: Path, report: Path) -> list[Path]:
    outside = pattern.startswith(f"${REPORT}/")
    return written(report if outside else folder, pattern.removeprefix(f"${REPORT}/"))


def _plain(place: Path) -> bool:
    return not place.is_symlink() and place.is_file() and place.stat().st_size <= LARGEST
