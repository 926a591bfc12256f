"""Signals: the first asks the controller to end after the step that it is in, the second ends it.
So does the first while the controller only waits.

What is open then is concluded by the next `resume`. A SIGTERM is a first signal with a limit: who
sends it (systemd, a CI system) kills soon after.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from controller.cli.place import SystemClock

PATIENCE = 20.0
"""Seconds that a step may still take after a SIGTERM."""


class Terminated(BaseException):
    """Somebody asked this process to end; the argument is the exit code."""


def at_once(number: int, _frame: object) -> None:
    """The handler of commands that have nothing to finish."""
    raise Terminated(128 + number)


@dataclass(slots=True)
class Ending:
    """Whether, and by which signal, this process was asked to end."""

    clock: SystemClock
    code: int = 0

    def asked(self) -> bool:
        """Whether it is to end after its step."""
        return bool(self.code)

    def signalled(self, number: int, _frame: object) -> None:
        """A signal has come. Raises Terminated for the second one, and where nothing is done."""
        if self.code or self.clock.asleep:
            raise Terminated(128 + number)
        self.code = 128 + number
        with suppress(OSError):  # whoever read it is gone; we may be in the middle of a line
            os.write(2, b"finishing this step; once more to end now\n")
        if number == signal.SIGTERM:
            signal.signal(signal.SIGALRM, lambda _number, _frame: at_once(number, None))
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)


@contextmanager
def gentle(clock: SystemClock) -> Iterator[Ending]:
    """While the block is open, the first SIGINT or SIGTERM lets the step be finished."""
    ending = Ending(clock)
    before = {number: signal.signal(number, ending.signalled)
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ending
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number, handler in before.items():
            signal.signal(number, handler)
