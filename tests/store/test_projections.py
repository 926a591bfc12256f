"""The files of a run catch up with the store, whatever a crash left of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.store.projections import Projections
from controller.testing.world import RUN, World
from tests.test_loop import proved, solve


def whole(folder: Path) -> World:
    world = World()
    solve(world)
    proved(world)
    world.go()
    Projections(world.queries, folder).catch_up(RUN)
    return world


def half_a_line(folder: Path) -> None:
    text = (folder / "audit.jsonl").read_bytes()
    (folder / "audit.jsonl").write_bytes(text[:-40])


def no_audit(folder: Path) -> None:
    (folder / "audit.jsonl").unlink()


def one_line(folder: Path) -> None:
    (folder / "audit.jsonl").write_bytes((folder / "audit.jsonl").read_bytes().split(b"\n")[0])


def nonsense(folder: Path) -> None:
    (folder / "audit.jsonl").write_text("nonsense\n")


def old_state(folder: Path) -> None:
    (folder / "state.json").write_text("{}")
    (folder / "state.json.tmp").write_text("half")


@pytest.mark.parametrize("damage", [half_a_line, no_audit, one_line, nonsense, old_state])
def test_projections_catch_up(damage: Callable[[Path], None], tmp_path: Path) -> None:
    world = whole(tmp_path)
    before = {file.name: file.read_bytes() for file in (tmp_path / RUN).iterdir() if file.is_file()}
    damage(tmp_path / RUN)

    Projections(world.queries, tmp_path).catch_up(RUN)

    assert {file.name: file.read_bytes() for file in (tmp_path / RUN).iterdir()
            if file.is_file()} == before


def test_observations_are_files_by_their_number(tmp_path: Path) -> None:
    world = whole(tmp_path)

    audit = (tmp_path / RUN / "audit.jsonl").read_text()
    records = [json.loads(line) for line in audit.splitlines()]

    for record in records:
        place = tmp_path / RUN / f"observations/{record['number']:04}.txt"
        assert place.read_text() == record["observation"]
    assert len(records) == len(list(world.queries.audit(RUN)))
