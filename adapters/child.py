"""Calling a model through a command-line program: one child, one prompt, no memory.

The prompt goes in as a file on stdin and the events come out into a file: pipes lose bytes. The
child runs in an empty folder that stays the same, with an environment of ours, and dies with us.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from controller.core.canonical import JsonObject
from controller.core.config import Clocks
from controller.core.miss import Broken, Malformed, Miss, TimedOut, Timer, Unknown, Why
from controller.core.records import Usage
from controller.process import SYSTEM_PATH, capture, supervise
from controller.watching import Ended, Job, Result

_SIZE = 256 * 1024 * 1024  # bytes that a program may write; pi repeats itself a thousandfold

_KILLED = (143, 137, 130, 129)  # exits that say of a signal


@dataclass(frozen=True, slots=True)
class Child:
    """One way to start the program. `folder` is ours alone.

    `mark` is what the program is found by when we have died. `spoken` stands in its output as soon
    as a model answers (empty: only the whole time is bounded); at `tripwire` in its output, and at
    `complaint` on its stderr, it is ended.
    """

    binary: str
    folder: Path
    clocks: Clocks
    mark: str = ""
    spoken: bytes = b""
    tripwire: bytes = b""
    complaint: bytes = b""

    @property
    def home(self) -> Path:
        """A home folder that holds nothing of the user's."""
        return self._made("home")

    def file(self, name: str, text: str) -> Path:
        """A file of the call, outside the folder that the child runs in."""
        place = self._made("call") / name
        place.write_text(text, encoding="utf-8")
        return place

    def call(self, args: Sequence[str], env: Mapping[str, str], prompt: str) -> "Said":
        """Run the program over `prompt`, to its end or to one of its clocks."""
        call = self._made("call")
        stdout, stderr = call / "stdout", call / "stderr"
        for old in (stdout, stderr):
            old.unlink(missing_ok=True)  # never the answer of the call before
        clocks = self.clocks
        result = supervise(Job(
            argv=[*_leash(), self.binary, *args], cwd=self._made("empty"), env=env, stdout=stdout,
            stderr=stderr, stdin=self.file("prompt", prompt), timeout=clocks.total,
            first=clocks.first, spoken=self.spoken, silence=clocks.idle if self.spoken else None,
            tripwire=self.tripwire, complaint=self.complaint, size=_SIZE, mark=self.mark))
        return Said(Path(self.binary).name, result, _text(stdout), _text(stderr))

    def _made(self, name: str) -> Path:
        place = self.folder / name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place


@lru_cache(maxsize=1)
def _leash() -> Sequence[str]:
    """What lets a child die with us (PR_SET_PDEATHSIG, prctl(2)), where util-linux is there. What
    is left all the same is found by its mark when the run is resumed.
    """
    found = shutil.which("setpriv", path=SYSTEM_PATH)
    if not found:
        return ()
    leash = (found, "--pdeathsig", "KILL", "--")
    said = capture([*leash, "true"], cwd=Path("/"), env={"PATH": SYSTEM_PATH})
    return () if said.exit else leash  # busybox has one that can do less


@dataclass(frozen=True, slots=True)
class Said:
    """What the program wrote, and how it ended."""

    program: str
    result: Result
    stdout: str
    stderr: str

    @property
    def events(self) -> tuple[JsonObject, ...]:
        """Its JSON events; what is none is a notice, or a line cut short."""
        return _events(self.stdout)

    def of(self, kind: str) -> list[JsonObject]:
        """The events of one `type`."""
        return [event for event in self.events if event.get("type") == kind]

    def cut(self) -> Miss | None:
        """Why it was ended before it ended; None: it ended by itself."""
        ended, after = self.result.ended, (
            f"{self.program} {self.result.ended.value} after {self.result.seconds:.0f} s")
        if ended is Ended.NOT_STARTED:
            return self._unstarted(self.result.fault)
        why = _CUT.get(ended)
        return Miss(why, after, billed=True) if why else None

    def lost(self, usage: Usage | None = None) -> Miss:
        """What to say when it ended without a word that we know."""
        words = self.stderr.strip()[-500:] or f"{self.program} ended with exit {self.result.exit}"
        if self.result.exit in (126, 127):  # of setpriv, or of the shebang's env
            return self._unstarted(words)
        killed = (self.result.exit or 0) < 0 or self.result.exit in _KILLED
        return Miss(Unknown(), f"{self.program} was ended by somebody" if killed else words,
                    billed=True, usage=usage or Usage())

    def _unstarted(self, words: str) -> Miss:
        return Miss(Broken(), f"{words}; install it or set model.binary in config.yaml")


TOOLS = "expected an answer only, got a tool call; you have no tools: answer with the JSON object"


_CUT: dict[Ended, Why] = {
    Ended.TIMED_OUT: TimedOut(Timer.TOTAL), Ended.UNSPOKEN: TimedOut(Timer.FIRST),
    Ended.SILENT: TimedOut(Timer.IDLE), Ended.TRIPPED: Malformed(TOOLS),
    Ended.FLOODED: Malformed("your answer was far too long; send a shorter one"),
    Ended.ASKED: Unknown()}
"""How a program was ended -> what that means."""


def base_environment(path: str, home: Path) -> dict[str, str]:
    """What every child finds: nothing of the user's environment but PATH."""
    return {"PATH": path, "HOME": str(home), "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def _text(place: Path) -> str:
    return place.read_text("utf-8", "replace") if place.exists() else ""


@lru_cache(maxsize=1)
def _events(stdout: str) -> tuple[JsonObject, ...]:
    """Each line that is an event; of a message that grows the last one is enough."""
    lines = (line for line in stdout.split("\n") if '"type":"message_update"' not in line[:40])
    return tuple(event for event in map(_event, lines) if event)


def _event(line: str) -> JsonObject | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
