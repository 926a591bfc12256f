"""Limits in wall-clock time for a library call that has none of its own."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from controller.core.config import Clocks
from controller.core.miss import Timer

T = TypeVar("T")

SLACK = 5.0
"""Seconds after our own clock at which a client's read timeout may run out."""

_LOOK = 0.1  # seconds between two looks at the clocks


@dataclass(frozen=True, slots=True)
class OutOfTime(Exception):
    """One of the clocks ran out before the call was over."""

    timer: Timer


@dataclass(slots=True)
class Beat:
    """What a call tells while it goes on, by being called whenever something has come."""

    begun: float = field(default_factory=time.monotonic)
    last: float | None = None

    def __call__(self) -> None:
        self.last = time.monotonic()

    def out(self, clocks: Clocks) -> Timer | None:
        """The clock that has run out, if one has."""
        now = time.monotonic()
        if now - self.begun > clocks.total:
            return Timer.TOTAL
        if self.last is None:
            return Timer.FIRST if now - self.begun > clocks.first else None
        return Timer.IDLE if now - self.last > clocks.idle else None


def within(clocks: Clocks, call: Callable[[Beat], T], give_up: Callable[[], None]) -> T:
    """What `call` returns or raises. Raises OutOfTime after `give_up` when a clock runs out.

    The read timeout of an HTTP client starts anew with every byte, so a slow drip defeats it, and
    pings do. A call that is given up ends in its thread once its connection is closed.
    """
    done: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()
    beat = Beat()

    def work() -> None:
        try:
            done.put((call(beat), None))
        except BaseException as fault:  # noqa: BLE001  (handed to the caller's thread whole)
            done.put((None, fault))

    threading.Thread(target=work, daemon=True).start()
    while True:
        try:
            result, fault = done.get(timeout=_LOOK)
        except queue.Empty:
            timer = beat.out(clocks)
            if timer is None:
                continue
            give_up()
            raise OutOfTime(timer) from None
        if fault is not None:
            raise fault
        return result  # type: ignore[return-value]  # no fault: `work` put what `call` returned
