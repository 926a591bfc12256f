"""`oneshot ARGS` in virtual time, dying by `kill -9` at one boundary between two lines of the loop.

Run as a program of its own: `main` reads the boundary and the arguments. What it passes is written
down, so that a test knows which boundaries there are.
"""

import os
import signal
import sys
from datetime import datetime, timedelta
from pathlib import Path

import controller.cli
import controller.cli.run
from controller import loop
from controller.cli.place import SystemClock
from controller.core.head import Head, Lease
from controller.parts import Controller
from controller.testing.crash import Countdown, dying_at

_slept = timedelta()


def main() -> None:
    """`mortal BOUNDARY PASSED ARGS…`: die at that boundary; below zero: never."""
    boundary, passed, *args = sys.argv[1:]
    _let_time_fly()
    _mortal(int(boundary), Path(passed))
    code = controller.cli._run(args)
    sys.stdout.flush()
    os._exit(code)


def _let_time_fly() -> None:
    """A wait takes no time, and the clock shows it all the same."""
    present = SystemClock.now

    def sleep(_: SystemClock, seconds: float) -> None:
        global _slept  # noqa: PLW0603  (of this process only)
        _slept += timedelta(seconds=seconds)

    def now(clock: SystemClock) -> datetime:
        return present(clock) + _slept

    SystemClock.sleep = sleep  # type: ignore[method-assign, assignment]  # in a process of ours only
    SystemClock.now = now  # type: ignore[method-assign, assignment]  # in a process of ours only


def _mortal(boundary: int, passed: Path) -> None:
    def note(name: str) -> None:
        with passed.open("a") as file:
            file.write(name + "\n")

    countdown = Countdown(boundary, fault=lambda _: os.kill(os.getpid(), signal.SIGKILL),
                          noted=note)
    wrap = dying_at(countdown)

    def run(ctl: Controller, lease: Lease, steps: int | None = None) -> Head:
        return loop.run(wrap.around(ctl), lease, steps)

    controller.cli.run.run = run  # type: ignore[attr-defined]  # in a process of ours only
