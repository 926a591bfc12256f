"""Ways in which a controller comes to harm, and how it is helped up again.

At a boundary: between two lines of the loop, by name. At a system call: by strace's fault
injection, which counts every name by itself from the moment it is attached; SIGKILL strikes before
the call takes effect. Each way ends with a controller that goes on, as a person would have it.
"""

import errno
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from controller.testing.crash import Countdown
from tests.crash import actors
from tests.crash.actors import Ended
from tests.crash.stage import Stage

CALLS = "pwrite64,write,fsync,fdatasync,ftruncate,unlink,rename,link,mkdir"
"""The system calls that change something on the disk."""

ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC}
FAULTS = ("SIGKILL", "SIGSTOP", "SIGTERM", "EIO", "ENOSPC")


@dataclass(frozen=True, slots=True)
class Case:
    """One way of coming to harm: `where` is a boundary, a system call, or a moment; `first` is the
    boundary of a death before it.
    """

    scenario: str
    fault: str
    where: str
    number: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class Harm:
    """What a fault did: how the controller ended, and how its frozen twin did, if there was one."""

    ended: Ended
    zombie: Ended | None = None


def boundaries(stage: Stage, step: int) -> list[tuple[int, str]]:
    """(number, name) of every boundary that a whole run passes in one step, by dry run."""
    log = stage.folder / "boundaries"
    countdown = Countdown(-1, noted=lambda name: _append(log, name))
    actors.wait(stage, actors.start(stage, *actors.new(stage),
                                    before=actors.at_boundary(countdown)))
    passed = log.read_text().splitlines()
    starts = [index for index, name in enumerate(passed) if name == "before granted"]
    starts.append(len(passed))
    return [(index, passed[index]) for index in range(starts[step - 1], starts[step])]


def system_calls(stage: Stage, arguments: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    """(name, how many) of every call of CALLS that the controller makes in a whole run, or in
    another command.
    """
    log = stage.folder / "calls"
    _traced(stage, "-o", str(log), arguments=arguments)
    counted = Counter(line.split("(")[0] for line in log.read_text().splitlines() if "(" in line)
    return sorted(counted.items())


def at_boundary(stage: Stage, case: Case) -> Harm:
    """Strike between two lines of the loop."""
    strike = _strike(case.fault)
    pid = actors.start(stage, *actors.new(stage),
                       before=actors.at_boundary(Countdown(case.number, fault=strike)))
    if case.fault != "SIGSTOP" or not actors.stopped(pid):
        return Harm(actors.wait(stage, pid))
    overtaking = actors.start(stage, *actors.again(stage), before=actors.later)
    second = actors.wait(stage, overtaking)
    os.kill(pid, signal.SIGCONT)
    return Harm(second, actors.wait(stage, pid))


def at_system_call(stage: Stage, case: Case) -> Harm:
    """Strike at the n-th system call of a name."""
    action = "signal=KILL" if case.fault == "SIGKILL" else f"error={case.fault}"
    return Harm(_traced(stage, "-o", "/dev/null", "-e",
                        f"inject={case.where}:{action}:when={case.number}"))


def in_recovery(stage: Stage, case: Case) -> Harm:
    """Kill when the second action is performed and nobody has written it down, then strike again
    while that is being concluded.
    """
    pid = actors.start(stage, *actors.new(stage), before=actors.at_boundary(
        Countdown(case.first, fault=_strike("SIGKILL"))))
    actors.wait(stage, pid)
    return Harm(actors.wait(stage, actors.start(stage, *actors.again(
        stage), before=actors.at_boundary(Countdown(case.number, fault=_strike(case.fault))))))


def in_rollback(stage: Stage, case: Case) -> Harm:
    """Run to the end, then strike at a system call of a rollback to the start."""
    actors.wait(stage, actors.start(stage, *actors.new(stage)))
    return Harm(_traced(stage, "-o", "/dev/null", "-e",
                        f"inject={case.where}:signal=KILL:when={case.number}",
                        arguments=ROLLBACK))


ROLLBACK = ("rollback", "--to", "0", "--accept-external")


def at_random(stage: Stage, case: Case) -> Harm:
    """Strike at a random moment of its first 0.4 seconds, which are most of it."""
    import time

    pid = actors.start(stage, *actors.new(stage))
    time.sleep(Random(case.number).uniform(0.0, 0.4))
    os.kill(pid, signal.SIGKILL)  # or its remains: it has not been waited for
    return Harm(actors.wait(stage, pid))


def _strike(fault: str) -> Callable[[str], None]:
    def strike(where: str) -> None:
        if fault in ERRORS:
            raise OSError(ERRORS[fault], os.strerror(ERRORS[fault]), where)
        os.kill(os.getpid(), getattr(signal, fault))

    return strike


def _traced(stage: Stage, *options: str, arguments: tuple[str, ...] = ()) -> Ended:
    """A controller under strace, which is attached before it has done anything."""
    pid = actors.start(stage, *(arguments or actors.new(stage)),
                       before=lambda: os.kill(os.getpid(), signal.SIGSTOP))
    assert actors.stopped(pid)
    tracer = subprocess.Popen(
        ["strace", "-q", "-e", "signal=none", "-e", f"trace={CALLS}", *options, "-p", str(pid)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not _is_traced(pid):
        if tracer.poll() is not None:
            os.kill(pid, signal.SIGKILL)
            raise RuntimeError(f"strace: {tracer.stderr.read().decode() if tracer.stderr else ''}")
    os.kill(pid, signal.SIGCONT)
    ended = actors.wait(stage, pid)
    tracer.communicate(timeout=10)
    return ended


def _is_traced(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return "TracerPid:\t0\n" not in status


def _append(log: Path, name: str) -> None:
    with log.open("a") as file:
        file.write(name + "\n")
