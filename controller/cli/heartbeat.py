"""The heartbeat of a lease: renewed while a long action or model call lasts, and what goes on is
stopped when it is lost.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime

from controller.cli.place import Place
from controller.cli.supervised import tell
from controller.core.errors import ControllerError, LeaseLost
from controller.core.head import Lease
from controller.core.ports import Clock
from controller.processes import alive
from controller.store.journal import Journal
from controller.store.leases import BEAT, LEASE
from controller.store.sqlite import open_tables


@dataclass(slots=True)
class Heartbeat:
    """Renews a lease, and calls `lost` once with the reason when it is not ours any more."""

    renew: Callable[[datetime], None]
    lost: Callable[[str], None]
    clock: Clock
    until: datetime

    def beat(self) -> bool:
        """Renew the lease. False: it is lost, or could not be renewed for as long as it lasts."""
        now = self.clock.now()
        try:
            self.renew(now)
        except LeaseLost as fault:
            self.lost(str(fault))
            return False
        except ControllerError as fault:  # a full disk, a locked database: there is time to retry
            if now < self.until:
                return True
            self.lost(f"the lease could not be renewed in time: {fault}")
            return False
        self.until = now + LEASE
        return True


@contextmanager
def beating(place: Place, lease: Lease) -> Iterator[None]:
    """Renew the lease in a thread; when it is lost, LeaseLost is raised in the main thread,
    whatever it waits for.
    """
    ended, main = threading.Event(), threading.main_thread().ident
    reasons: list[str] = []

    def lost(reason: str) -> None:
        reasons.append(reason)
        if main is not None and not ended.is_set():
            signal.pthread_kill(main, signal.SIGUSR1)

    def stop(_number: int, _frame: object) -> None:
        if reasons:  # anybody can send a signal
            raise LeaseLost(reasons[-1])

    thread = threading.Thread(target=_beats, args=(place, lease, lost, ended), daemon=True)
    before = signal.signal(signal.SIGUSR1, stop)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def _beats(place: Place, lease: Lease, lost: Callable[[str], None],
           ended: threading.Event) -> None:
    def renew(now: datetime) -> None:
        tables = open_tables(place.database)  # its own: a connection is not shared with a thread
        with closing(tables.connection):
            Journal(tables, alive, place.seal).renew(lease, now)

    heart = Heartbeat(renew, lost, place.clock, place.clock.now() + LEASE)
    while not ended.wait(BEAT.total_seconds()) and heart.beat():
        tell(place.settings.variables, "WATCHDOG=1")
