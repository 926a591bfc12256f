"""A lease is renewed while its holder works, and what he does is stopped when it is lost."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from controller.cli import heartbeat
from controller.cli.heartbeat import Heartbeat, beating
from controller.cli.place import Place, open_place
from controller.core.errors import LeaseLost, StateError
from controller.core.head import Lease
from controller.settings import Settings
from controller.store.leases import LEASE
from controller.testing.clock import MORNING, FixedClock
from controller.testing.world import ME, RUN, World


def heart(renew: Callable[[datetime], None]) -> tuple[Heartbeat, FixedClock, list[str]]:
    clock, reasons = FixedClock(), list[str]()
    return Heartbeat(renew, reasons.append, clock, MORNING + LEASE), clock, reasons


def raising(fault: Exception) -> Callable[[datetime], None]:
    def renew(_: datetime) -> None:
        raise fault

    return renew


def test_a_beat_renews_from_now_on() -> None:
    renewed: list[datetime] = []
    made, clock, reasons = heart(renewed.append)
    clock.time += timedelta(seconds=20)

    assert made.beat() is True

    assert (renewed, made.until, reasons) == ([clock.time], clock.time + LEASE, [])


def test_a_lease_that_somebody_took_over_is_lost_at_once() -> None:
    made, _, reasons = heart(raising(LeaseLost("run r was taken over")))

    assert made.beat() is False
    assert reasons == ["run r was taken over"]


def test_a_lease_that_cannot_be_renewed_is_lost_when_it_runs_out() -> None:
    made, clock, reasons = heart(raising(StateError("the disk is full")))

    before = made.beat()
    clock.time = MORNING + LEASE
    after = made.beat()

    assert (before, after) == (True, False)
    assert reasons == ["the lease could not be renewed in time: the disk is full"]


@pytest.fixture
def place(checkout: Path, tmp_path: Path) -> Place:
    found = open_place(checkout, Settings(
        tmp_path, tmp_path / "cache", tmp_path / "state", "", {}), make=True)
    World(tables=found.tables).open()
    return found


def test_losing_the_lease_stops_what_the_main_thread_waits_for(
        place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT", timedelta(seconds=0.05))
    world = World(tables=place.tables)
    lease = world.store.lease(RUN, ME, MORNING).__enter__()
    world.alive = False
    world.store.lease(RUN, ME, MORNING).__enter__()
    started = time.monotonic()

    with pytest.raises(LeaseLost, match="was taken over by process 1 on here"), beating(
            place, lease):
        time.sleep(30)

    assert time.monotonic() - started < 10


def test_a_heartbeat_moves_the_end_of_the_lease_while_an_action_lasts(
        place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT", timedelta(seconds=0.02))
    lease: Lease = World(tables=place.tables).store.lease(RUN, ME, MORNING).__enter__()

    with beating(place, lease):
        until = place.tables.run(RUN)
        while (row := place.tables.run(RUN)) == until:
            pass

    assert row is not None
    assert row.until is not None
    assert datetime.fromisoformat(row.until) > MORNING + LEASE
