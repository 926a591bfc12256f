"""The retention rule of snapshots."""

from pathlib import Path

import pytest

from controller.cli import tidy
from controller.cli.place import Place, open_place
from controller.cli.tidy import Tidy
from controller.core.facts import Snapshot
from controller.settings import Settings
from controller.store.ledger import note
from controller.testing.clock import MORNING
from controller.testing.world import RUN, World
from tests.bench import Bench


@pytest.fixture
def place(checkout: Path, tmp_path: Path) -> Place:
    return open_place(checkout, Settings(
        tmp_path, tmp_path / "cache", tmp_path / "state", "", {}), make=True)


def test_the_last_records_keep_their_snapshots_and_older_ones_are_let_go_of(
        bench: Bench, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "EVERY", 7)
    monkeypatch.setattr(tidy, "KEPT", 3)
    World(tables=place.tables).open()
    snapshots, taken = bench.place.snapshots, list[Snapshot]()
    made = Tidy(place, snapshots)
    for number in range(6):
        (bench.root / "new.txt").write_text(str(number))
        taken.append(snapshots.take())
        with place.tables.transaction():
            note(place.tables, RUN, "committed", MORNING, {"outcome": {"tree": taken[-1].tree}})
        made.written(RUN)

    snapshots.repo.git("prune", "--expire=now")

    assert [snapshots.has(snapshot) for snapshot in taken] == [False] * 3 + [True] * 3
