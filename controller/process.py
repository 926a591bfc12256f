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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from controller.core.errors import MachineFault, WorldError
from controller.terminal import terminal

MARK = "ONESHOT_RUN"
"""The variable that marks a job and all that it starts."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the programs of the system are looked for."""

_GRACE = 2.0  # seconds between asking a group to end and ending it
_LOOK = 0.1  # seconds between two looks at a child's output
_PATIENCE = 2.0  # seconds of silence before a look at whether it waits for somebody, on a terminal
_DOUBT = 10.0  # and without one, where hardly anything can
_TAIL = 64 * 1024  # bytes of its output that are looked at for it


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


class Ended(Enum):
    """Why a child is over."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    UNSPOKEN = "did not begin to answer"
    SILENT = "said nothing for too long"
    FLOODED = "said too much"
    ASKED = "waited for a person"
    TRIPPED = "did what it was not to do"
    NOT_STARTED = "could not be started"


@dataclass(frozen=True, slots=True)
class Job:
    """A child to supervise. Times in seconds, sizes in bytes; `stderr` None: with stdout.

    `mark` goes into its environment, and so into that of everything it starts: whoever comes after
    us finds them all by it, even what was started in the instant before we died. It has the file
    descriptors `inherited`; `gone` comes back when nothing is left that its group does not hold.

    Silence counts once `spoken` stands in its output; until then `first` seconds do. It is ended as
    soon as `tripwire` stands there, or `complaint` in what it writes to stderr.

    `asks` says of the end of its output, when it is silent, what it waits for from a person, if it
    does. `tty`: it gets a terminal, and its first program must take it over (setsid --ctty).
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path | None = None
    stdin: Path | None = None
    timeout: float = 300.0
    first: float | None = None
    spoken: bytes = b""
    silence: float | None = None
    tripwire: bytes = b""
    complaint: bytes = b""
    size: int | None = None
    mark: str = ""
    inherited: Sequence[int] = ()
    gone: Callable[[], None] = lambda: None
    asks: Callable[[bytes], str] = lambda tail: ""
    tty: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How a child ended: `exit` is negative for a signal, None when it never ran. `fault` says why
    it did not start, or what it waited for.
    """

    ended: Ended
    exit: int | None
    seconds: float
    fault: str = ""


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
    watch = _Watch(job, started, started, started + _patience(job),
                   _Sought(job.stdout, job.spoken), (
                       _Sought(job.stdout, job.tripwire), _Sought(job.stderr, job.complaint)))
    while not _over(child, _LOOK):
        now = time.monotonic()
        if found := watch.clocks(now) or watch.words():
            return found, ""
        if why := watch.asks(now):
            return Ended.ASKED, why
    return (Ended.FLOODED if job.size and _size(job) > job.size else Ended.EXITED), ""


def _patience(job: Job) -> float:
    return _PATIENCE if job.tty else _DOUBT


@dataclass(slots=True)
class _Watch:
    """What is looked at while a child goes on."""

    job: Job
    started: float
    heard: float  # when its output has grown last
    asked: float  # when it is looked at next for a question
    spoken: "_Sought"
    tripped: "tuple[_Sought, ...]"
    size: int = 0

    def clocks(self, now: float) -> Ended | None:
        """The clock that has run out, or the size that is passed."""
        job, grown = self.job, _size(self.job)
        if grown != self.size:
            self.size, self.heard, self.asked = grown, now, now + _patience(job)
        if now - self.started > job.timeout:
            return Ended.TIMED_OUT
        if job.spoken and not self.spoken.found():
            late = job.first and now - self.started > job.first
            return Ended.UNSPOKEN if late else None
        if job.silence and now - self.heard > job.silence:
            return Ended.SILENT
        return Ended.FLOODED if job.size and self.size > job.size else None

    def words(self) -> Ended | None:
        """Whether it says that it did what it was not to do."""
        return Ended.TRIPPED if any(wire.found() for wire in self.tripped) else None

    def asks(self, now: float) -> str:
        """What it waits for from a person, when it is silent for a while."""
        if now <= self.asked:
            return ""
        self.asked = now + _patience(self.job)
        return self.job.asks(_tail(self.job))


@dataclass(slots=True)
class _Sought:
    """Words that are looked for in what a child writes into a file, each byte once."""

    file: Path | None
    words: bytes
    seen: bool = False
    read: int = 0

    def found(self) -> bool:
        """Whether they stand there by now."""
        if self.words and not self.seen and self.file and self.file.exists():
            with self.file.open("rb") as file:
                file.seek(max(0, self.read - len(self.words)))
                self.seen = self.words in file.read()
                self.read = file.tell()
        return self.seen


def _tail(job: Job) -> bytes:
    if not job.stdout.exists():
        return b""
    with job.stdout.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        return file.read()


def _size(job: Job) -> int:
    return sum(path.stat().st_size for path in (job.stdout, job.stderr) if path and path.exists())


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
