"""Real bugs of real projects, fetched from the package registry and solved again to proved done."""

import os
import sys
from pathlib import Path

import pytest

from controller.process import capture

TASKS = Path(__file__).parents[1] / "scripts/real_tasks"
QUICK = ("cachetools", "humanize", "pathspec", "prettytable", "tinydb", "xmltodict")
"""Of those in fixes.json the ones whose tests take a second or two."""


@pytest.mark.skipif(not os.environ.get("CI"), reason="LOUD SKIP: fetches projects from the package "
                    "registry; CI runs it, and so does scripts/real_task")
@pytest.mark.parametrize("task", sorted(place.parent.name for place in TASKS.glob("*/task.json")))
def test_a_real_task_is_proved_done_again(task: str, tmp_path: Path) -> None:
    said = capture([sys.executable, "-P", str(TASKS / "replay.py"), task, str(tmp_path)],
                   cwd=tmp_path, env=dict(os.environ), timeout=900)

    assert said.exit == 0, said.stdout.decode() + said.stderr.decode()
    assert b"finished: " in said.stdout


@pytest.mark.skipif(not os.environ.get("CI"), reason="LOUD SKIP: fetches projects from the package "
                    "registry; CI runs it, and so does scripts/real_fixes")
@pytest.mark.parametrize("task", QUICK)
def test_the_released_fix_is_proved_and_three_wrong_ones_are_not(task: str) -> None:
    said = capture([sys.executable, "-P", str(TASKS / "prove.py"), task], cwd=TASKS,
                   env=dict(os.environ), timeout=900)

    assert said.exit == 0, said.stdout.decode() + said.stderr.decode()
    assert b"4 fixes, 0 judged wrongly" in said.stdout
