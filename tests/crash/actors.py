"""Controllers as children of a process that has imported everything: forked, not started anew."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import controller.cli.ending
import controller.cli.place
import controller.cli.run
from controller import loop
from controller.cli.place import SystemClock
from controller.core.head import Head, Lease
from controller.parts import Controller
from controller.testing.crash import Countdown, dying_at
from tests.crash.stage import Stage

LATER = timedelta(hours=1)
"""How far in the future a controller lives that comes after a frozen one."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a controller ended: its exit code (negative for a signal) and what it said."""

    code: int
    said: str


@dataclass(frozen=True, slots=True)
class First:
    """The one of two controllers that ended first, and the process id of the other."""

    ended: Ended
    other: int


def start(stage: Stage, *args: str, before: Callable[[], None] = lambda: None,
          said: str = "") -> int:
    """Fork a controller: `oneshot ARGS` in the stage's checkout. Returns its process id.

    What it says goes into a file of the name `said`, for `wait`.
    """
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        _become(stage, said)
        before()
        code = controller.cli._run(list(args))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _become(stage: Stage, name: str) -> None:
    os.environ.clear()
    os.environ.update(stage.env)
    os.chdir(stage.repo)
    said = os.open(stage.words / f"said{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number in (1, 2):
        os.dup2(said, number)
    sys.stdout, sys.stderr = (os.fdopen(os.dup(said), "w", buffering=1) for _ in range(2))
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, controller.cli.ending.at_once)


def wait(stage: Stage, pid: int, said: str = "") -> Ended:
    """Wait for a controller that was forked."""
    _, status = os.waitpid(pid, 0)
    return _ended(stage, status, said)


def wait_any(stage: Stage, pids: list[int]) -> First:
    """Wait for one of two controllers, whose words go into the files 0 and 1."""
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    ended = next(pid for pid in pids if os.waitid(
        os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG))
    index = pids.index(ended)
    return First(wait(stage, ended, str(index)), pids[1 - index])


def _ended(stage: Stage, status: int, name: str) -> Ended:
    file = stage.words / f"said{name}"
    said = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return Ended(os.waitstatus_to_exitcode(status), said)


def stopped(pid: int) -> bool:
    """Wait until a controller stands still (True) or has ended."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    return os.WIFSTOPPED(status)


def new(stage: Stage) -> tuple[str, ...]:
    """The arguments that start the run."""
    return ("run", "--quiet", "--cassette", str(stage.cassette))


def again(stage: Stage) -> tuple[str, ...]:
    """The arguments that go on with it."""
    return ("resume", "--quiet", "--cassette", str(stage.cassette))


def at_boundary(countdown: Countdown) -> Callable[[], None]:
    """Let a controller come to harm where the countdown says, between two lines of the loop."""
    def before() -> None:
        def run(ctl: Controller, lease: Lease, steps: int | None = None) -> Head:
            return loop.run(_mortal(ctl, countdown), lease, steps)

        controller.cli.run.run = run  # type: ignore[attr-defined]  # in a fork of ours only

    return before


def never() -> None:
    """Let a controller come to no harm."""


def _mortal(ctl: Controller, countdown: Countdown) -> Controller:
    return dying_at(countdown).around(ctl)


def later() -> None:
    """Let a controller live in the future, when every lease of now has run out."""
    clock = controller.cli.place.SystemClock
    present = clock.now

    def now(self: SystemClock) -> datetime:
        return present(self) + LATER

    clock.now = now  # type: ignore[method-assign]  # in a fork of ours only
