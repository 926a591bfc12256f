"""Both databases do what a database must."""

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.core.errors import StateError
from controller.store.memory import MemoryTables
from controller.store.sqlite import open_tables
from controller.store.tables import Tables
from controller.testing.store_suite import SUITE
from controller.testing.world import RUN, World, command


@pytest.fixture(params=["memory", "sqlite"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    return MemoryTables() if request.param == "memory" else open_tables(tmp_path / "oneshot.db")


@pytest.mark.parametrize("check", SUITE, ids=lambda check: check.__name__)
def test_tables_conform(check: Callable[[Tables], None], tables: Tables) -> None:
    check(tables)


def test_sqlite_is_durable_by_its_settings(tmp_path: Path) -> None:
    connection = open_tables(tmp_path / "oneshot.db").connection

    said = {name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "page_size", "foreign_keys")}

    assert said == {"journal_mode": "wal", "synchronous": 2, "page_size": 8192, "foreign_keys": 1}


def test_a_run_is_the_same_after_the_database_is_opened_again(tmp_path: Path) -> None:
    world = World(tables=open_tables(tmp_path / "oneshot.db"))
    world.model.replies(command("write app.py 1"), {"facts": {"a": {"text": "é\u2028"}}})
    head = world.go(steps=1)

    again = World(tables=open_tables(tmp_path / "oneshot.db"))

    assert again.head == head
    assert list(again.queries.audit(RUN)) == list(world.queries.audit(RUN))


def test_a_database_of_a_newer_oneshot_is_refused(tmp_path: Path) -> None:
    open_tables(tmp_path / "oneshot.db").connection.execute("PRAGMA user_version = 99")

    with pytest.raises(StateError, match="newer oneshot"):
        open_tables(tmp_path / "oneshot.db")


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "oneshot.db").write_text("my shopping list" * 100)

    with pytest.raises(StateError, match=r"can't open the database .*oneshot\.db"):
        open_tables(tmp_path / "oneshot.db")

    assert (tmp_path / "oneshot.db").read_text() == "my shopping list" * 100


def test_a_changed_audit_record_is_found_by_its_number(tmp_path: Path) -> None:
    world = World(tables=open_tables(tmp_path / "oneshot.db"))
    world.model.replies(command("write app.py 1"))
    world.model.replies(command("write app.py 2"))
    world.go(steps=2)
    tables = world.tables
    assert world.queries.broken_link(RUN) is None

    tables.connection.execute(  # type: ignore[attr-defined]  # these are SQLite's
        "UPDATE audit SET body = replace(body, 'write', 'wrote') WHERE number = 2")

    assert world.queries.broken_link(RUN) == 2


def test_many_processes_may_be_the_first_to_open_a_database(tmp_path: Path) -> None:
    import threading

    faults: list[Exception] = []

    def first(folder: Path, ready: threading.Barrier) -> None:
        ready.wait()
        try:
            open_tables(folder / "oneshot.db").connection.close()
        except StateError as fault:
            faults.append(fault)

    for number in range(10):
        ready = threading.Barrier(6)
        racers = [threading.Thread(target=first, args=(tmp_path / str(number), ready))
                  for _ in range(6)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()

    assert faults == []
