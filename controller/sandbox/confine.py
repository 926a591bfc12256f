"""Tier 2, the half that runs in the child: a supervisor, and below it the confined command.

The supervisor is the reaper of whatever the command leaves behind (PR_SET_CHILD_SUBREAPER), and
ends all of it when the command ends, when it is told to (SIGTERM), or when the controller dies.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from controller.sandbox import landlock, seccomp
from controller.sandbox.census import threads_of

FAILED, BROKEN = "can't execute ", "can't confine "
"""How the status begins of a command that can't be started, and of walls that can't be built."""

_DEATH, _REAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PYTHONS = (signal.SIGPIPE, signal.SIGXFSZ)  # which Python ignores, and a command would too
_NO_PROGRAM, _CANNOT_RUN, NO_WALLS = 127, 126, 125


@dataclass(frozen=True, slots=True)
class Order:
    """What to run, and behind which walls; `readable` None: behind none, with its limits and its
    end only. `parent` is the controller's process id; `status` a descriptor on which is told why
    it never ran, and which the command does not get.
    """

    argv: Sequence[str]
    readable: Sequence[str] | None
    writable: Sequence[str]
    network: bool
    tty: bool
    user: int | None
    processes: int
    data: int
    file: int
    parent: int
    status: int

    def line(self) -> list[str]:
        """The command line that carries the order out."""
        top = str(Path(__file__).resolve().parents[2])
        start = (f"import sys; sys.path.insert(0, {top!r}); "
                 "from controller.sandbox.confine import main; main(sys.argv[1])")
        return [sys.executable, "-I", "-S", "-c", start, json.dumps(asdict(self))]


def main(text: str) -> None:
    """Carry out one order; exits as the command does, 128 and its number for a signal."""
    order = Order(**json.loads(text))
    libc = ctypes.CDLL(None)
    libc.prctl(_REAPER, 1, 0, 0, 0)
    libc.prctl(_DEATH, signal.SIGTERM, 0, 0, 0)
    for number in _ENDING:
        signal.signal(number, _stop)
    if os.getppid() != order.parent:
        os._exit(128 + signal.SIGTERM)
    child = os.fork()
    if child == 0:
        _become(order)
    os._exit(_ended(child))


def _become(order: Order) -> None:
    """Turn this process into the command, or say why that can't be."""
    for number in (*_ENDING, *_PYTHONS):
        signal.signal(number, signal.SIG_DFL)
    try:
        if not order.tty:
            os.setsid()
        _confine(order)
    except OSError as fault:
        _say(order.status, f"{BROKEN}{order.argv[0]}: {fault}", NO_WALLS)
    os.set_inheritable(order.status, False)
    try:
        os.execvp(order.argv[0], list(order.argv))  # noqa: S606  (this is what we are for)
    except OSError as fault:
        missing = fault.errno in (errno.ENOENT, errno.ENOTDIR)
        _say(order.status, f"{FAILED}{order.argv[0]}: {fault.strerror}",
             _NO_PROGRAM if missing else _CANNOT_RUN)


def _confine(order: Order) -> None:
    others = threads_of(os.getuid() if order.user is None else order.user)
    for kind, bound in ((resource.RLIMIT_NPROC, others + order.processes),
                        (resource.RLIMIT_DATA, order.data), (resource.RLIMIT_FSIZE, order.file),
                        (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        most = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (most, most))
    if order.user is not None:
        os.setgroups([])
        os.setresgid(order.user, order.user, order.user)
        os.setresuid(order.user, order.user, order.user)
    if order.readable is None:
        return
    landlock.restrict(order.readable, order.writable, network=order.network)
    landlock.filtered(seccomp.program(sockets=order.network))


def _ended(child: int) -> int:
    """Wait for the command, then end what it has left."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            break
    _end_all()
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _stop(number: int, _frame: object) -> None:
    _end_all()
    os._exit(128 + number)


def _end_all() -> None:
    """Kill our children until there is none: what they leave behind becomes a child of ours."""
    while True:
        for pid in _children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    return [int(pid) for task in Path("/proc/self/task").iterdir()
            for pid in (task / "children").read_text().split()]


def _say(status: int, words: str, code: int) -> None:
    os.write(status, words.encode())
    os._exit(code)
