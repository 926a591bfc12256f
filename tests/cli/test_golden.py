"""What people and models read, kept as text in tests/golden/.

A change that is meant is taken over with ONESHOT_WRITE_GOLDEN=1 in the environment, and read before
it is committed.
"""

import os
import re
from pathlib import Path

import pytest

from controller.core.prompt import stable
from controller.project import read_project
from tests.cli.conftest import DEMO, Shop

GOLDEN = Path(__file__).parents[1] / "golden"
STEPS = 9


def same(name: str, text: str) -> None:
    place = GOLDEN / name
    if os.environ.get("ONESHOT_WRITE_GOLDEN"):
        place.write_text(text)
    assert text == place.read_text()


def timeless(text: str, shop: Shop) -> str:
    """Without what differs from run to run: ids, times, folders."""
    text = text.replace(str(shop.repo.parent), "/FOLDER")
    text = re.sub(r"separators-[0-9a-f]{6}", "separators-ID", text)
    text = re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b|\b[0-9a-f]{64}\b", "OBJECT", text)
    return re.sub(r"in \d+\.\d+s", "in TIME", text)


def test_the_help() -> None:
    from click.testing import CliRunner

    from controller.cli import oneshot

    same("help.txt", CliRunner().invoke(oneshot, ["--help"], prog_name="oneshot").output)


def test_the_part_of_the_prompt_that_stays(shop: Shop) -> None:
    """Changing this changes what every model is told: read the difference."""
    same("prompt.txt", stable(read_project(shop.repo).rules))


@pytest.fixture
def begun(shop: Shop) -> Shop:
    """The demo's run after nine steps, one of them refused."""
    ran = shop.oneshot("run", "--cassette", str(DEMO / "cassette.jsonl"), "--steps", str(STEPS))
    assert ran.code == 3, ran.err
    return shop


def test_what_a_run_shows_and_what_is_shown_of_it(begun: Shop) -> None:
    same("log.txt", timeless(begun.oneshot("log").out, begun))
    status = begun.oneshot("status")
    same("status.txt", timeless(status.out + status.err, begun))
    same("step.txt", timeless(begun.oneshot("show", "5").out, begun))
