"""Calling a model through a command-line program: one child, one prompt, no memory.

The prompt goes in as a file on stdin and the events come out into a file: pipes lose bytes. The
child runs in an empty folder that stays the same, with an environment of ours.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.core.canonical import JsonObject
from controller.core.errors import ModelUnavailable, ModelUnusable
from controller.process import Ended, Job, Result, supervise


@dataclass(frozen=True, slots=True)
class Child:
    """One way to start the program. `folder` is ours alone; times in seconds.

    `mark` is what the program is found by when we have died.
    """

    binary: str
    folder: Path
    total_timeout: float
    idle_timeout: float | None
    mark: str = ""

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
        """Run the program over `prompt` to its end.

        Raises ModelUnusable when it can't be started, ModelUnavailable when it does not end.
        """
        call = self._made("call")
        stdout, stderr = call / "stdout", call / "stderr"
        result = supervise(Job(
            argv=[self.binary, *args], cwd=self._made("empty"), env=env, stdout=stdout,
            stderr=stderr, stdin=self.file("prompt", prompt), timeout=self.total_timeout,
            silence=self.idle_timeout, size=256 * 1024 * 1024, mark=self.mark))
        if result.ended is Ended.NOT_STARTED:
            raise ModelUnusable(f"{result.fault}; install it or set model.binary in config.yaml")
        if result.ended is not Ended.EXITED:
            raise ModelUnavailable(
                f"{Path(self.binary).name} {result.ended.value} after {result.seconds:.0f} s")
        return Said(result, _events(stdout), stderr.read_text("utf-8", "replace"))

    def _made(self, name: str) -> Path:
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        return place


@dataclass(frozen=True, slots=True)
class Said:
    """What the program wrote: its JSON events, and its complaints."""

    result: Result
    events: tuple[JsonObject, ...]
    stderr: str

    def of(self, kind: str) -> list[JsonObject]:
        """The events of one `type`."""
        return [event for event in self.events if event.get("type") == kind]


def base_environment(path: str, home: Path) -> dict[str, str]:
    """What every child finds: nothing of the user's environment but PATH."""
    return {"PATH": path, "HOME": str(home), "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def _events(stdout: Path) -> tuple[JsonObject, ...]:
    found = []
    for line in stdout.read_text("utf-8", "replace").split("\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue  # not an event: a notice, or a line cut short
        if isinstance(event, dict):
            found.append(event)
    return tuple(found)
