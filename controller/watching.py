"""What a child is to keep to, and how it is watched: clocks, size, words, questions."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_PATIENCE = 2.0  # seconds of silence before a look at whether it waits for somebody, on a terminal
_DOUBT = 10.0  # and without one, where hardly anything can
_TAIL = 64 * 1024  # bytes of its output that are looked at for it


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


def watching(job: Job, started: float) -> "Watch":
    """A watch over a child that has just been started."""
    return Watch(job, started, started, started + _patience(job), _Sought(job.stdout, job.spoken), (
        _Sought(job.stdout, job.tripwire), _Sought(job.stderr, job.complaint)))


def _patience(job: Job) -> float:
    return _PATIENCE if job.tty else _DOUBT


@dataclass(slots=True)
class Watch:
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
        job, grown = self.job, size_of(self.job)
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


def size_of(job: Job) -> int:
    """Bytes that it has written."""
    return sum(path.stat().st_size for path in (job.stdout, job.stderr) if path and path.exists())
