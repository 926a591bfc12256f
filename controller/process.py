"""The only spawner. Every child has its own process group, no input of ours, and an end.

`capture` is for short commands that we chose (git); `supervise` for everything else: its output
goes to a file, never a pipe, and time, silence and size are bounded.
"""

import errno
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.core.errors import MachineFault, WorldError
from controller.terminal import terminal
from controller.watching import Ended, Job, Result, size_of, watching

MARK = "ONESHOT_RUN"
"""The variable that marks a job and all that it starts."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the programs of the system are looked for."""

_GRACE = 2.0  # seconds between asking a group to end and ending it
_LOOK = 0.1  # seconds between two looks at a child's output


@dataclass(frozen=True, slots=True)
class Captured:
    """What a short command said."""

    exit: int
    stdout: bytes
    stderr: bytes


_BROKEN = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE,
           errno.ENOMEM}


def machine_fault(fault: OSError) -> MachineFault | None:
    """The fault as the machine's, when it is one: a full or broken disk, no memory."""
    if fault.errno not in _BROKEN:
        return None
    where = f" ({fault.filename})" if fault.filename else ""
    return MachineFault(f"{os.strerror(fault.errno or 0)}{where}: nothing is lost; mend it, then "
                        "`oneshot resume`")


def told_machine_fault(words: str) -> bool:
    """Whether a program in the C locale complains of a fault of the machine's, or of a lock that
    somebody has to remove.
    """
    return ".lock': File exists" in words or any(os.strerror(number) in words for number in _BROKEN)


def capture(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"",
            timeout: float = 120.0, inherited: Sequence[int] = ()) -> Captured:
    """Run a short command to its end. Raises WorldError when it can't start or does not end.

    It has the file descriptors `inherited`, so a lock of ours lasts as long as it does.
    """
    try:
        child = subprocess.Popen(
            argv, cwd=cwd, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, pass_fds=inherited, umask=0o022)
    except (OSError, ValueError) as fault:  # ValueError: a NUL in an argument
        if isinstance(fault, OSError) and (broken := machine_fault(fault)):
            raise broken from fault
        raise WorldError(f"can't run {argv[0]}: {_why(fault)}") from fault
    with child:
        try:
            stdout, stderr = child.communicate(stdin, timeout)
        except subprocess.TimeoutExpired as fault:
            _end(child)
            raise WorldError(f"{argv[0]} did not end within {timeout:.0f} s: {argv}") from fault
        except BaseException:
            _end(child)
            raise
    return Captured(child.returncode, stdout, stderr)


def supervise(job: Job) -> Result:
    """Run a child to its end or to one of its limits; nothing of its group is left behind."""
    started = time.monotonic()
    with ExitStack() as stack:
        try:
            child = _spawn(job, stack)
        except (OSError, ValueError) as fault:  # ValueError: a NUL in an argument
            if isinstance(fault, OSError) and (broken := machine_fault(fault)):
                raise broken from fault
            return Result(Ended.NOT_STARTED, None, 0.0, f"{job.argv[0]}: {_why(fault)}")
        try:
            ended, why = _watch(child, job, started)
        finally:
            _end(child)
            job.gone()
    return Result(ended, child.returncode, time.monotonic() - started, why)


@dataclass(frozen=True, slots=True)
class Detached:
    """A process that goes on when we are gone."""

    child: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """Its number."""
        return self.child.pid

    def ended_within(self, seconds: float) -> int | None:
        """The exit code, when it ends within so many seconds."""
        return self.child.wait() if _over(self.child, seconds) else None


def detached(argv: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path) -> Detached:
    """Start a process in a session of its own, without input, that writes into `log`.

    Raises WorldError when it can't be started.
    """
    try:
        with log.open("ab") as output:
            child = subprocess.Popen(argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL,
                                     stdout=output, stderr=subprocess.STDOUT,
                                     start_new_session=True)
    except OSError as fault:
        raise WorldError(f"can't run {argv[0]}: {_why(fault)}") from fault
    return Detached(child)


def _why(fault: OSError | ValueError) -> str:
    return (fault.strerror if isinstance(fault, OSError) else None) or str(fault)


def _spawn(job: Job, stack: ExitStack) -> subprocess.Popen[bytes]:
    """Start the child. What it is to have for longer than its start goes onto the stack."""
    nothing = Path(os.devnull)
    env = {**job.env, **({MARK: job.mark} if job.mark else {})}
    with ExitStack() as briefly:
        if job.tty:
            side = stack.enter_context(terminal(job.stdout))
            briefly.callback(os.close, side)
            given: tuple[Any, Any, Any] = (side, side, side)  # Any: a descriptor or a file
        else:
            given = (briefly.enter_context((job.stdin or nothing).open("rb")),
                     briefly.enter_context(job.stdout.open("wb")), subprocess.STDOUT)
            if job.stderr:
                given = (*given[:2], briefly.enter_context(job.stderr.open("wb")))
        return subprocess.Popen(
            job.argv, cwd=job.cwd, env=env, stdin=given[0], stdout=given[1], stderr=given[2],
            start_new_session=True, pass_fds=job.inherited)


def _watch(child: subprocess.Popen[bytes], job: Job, started: float) -> tuple[Ended, str]:
    watch = watching(job, started)
    while not _over(child, _LOOK):
        now = time.monotonic()
        if found := watch.clocks(now) or watch.words():
            return found, ""
        if why := watch.asks(now):
            return Ended.ASKED, why
    return (Ended.FLOODED if job.size and size_of(job) > job.size else Ended.EXITED), ""


def _over(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the child ends within so many seconds. It is not reaped, so its id stays its own."""
    if child.returncode is not None:
        return True
    pidfd = os.pidfd_open(child.pid)
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child's whole group, asking first so that it may clean up, and reap the child."""
    if child.returncode is None:
        if not _over(child, 0):
            _signal_group(child.pid, signal.SIGTERM)
            _over(child, _GRACE)
        _signal_group(child.pid, signal.SIGKILL)  # before reaping: the number is still its own
        child.wait()


def _signal_group(pid: int, number: signal.Signals) -> bool:
    """Whether there was a group to signal."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
