"""A run in a process of its own, which outlives the terminal that it was started from.

Where systemd runs for the user it is a unit (`systemctl --user status oneshot-RUN`), which also
outlives the log-out when lingering is on; elsewhere a process in a session of its own.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from controller.cli.place import Place
from controller.cli.show import line, next_commands, talk
from controller.core.errors import SetupError
from controller.core.head import RunId
from controller.process import detached

_INSIDE = "ONESHOT_IN_BACKGROUND"
"""The variable that a process in the background finds."""

_BEGINS = 1.0  # seconds in which a process that can't begin says so


def in_background(place: Place, run: RunId, *more: str) -> int:
    """Do what this command line says, and `more`, in a process of its own. Returns the exit code:
    0 when it has begun.
    """
    log = place.runs / run / "console.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    unit = _unit(place, run)
    child = detached([*unit, *_this_command(more)], Path.cwd(), {**os.environ, _INSIDE: "1"}, log)
    ended = child.ended_within(_BEGINS)
    if ended:
        said = log.read_text("utf-8", "replace").strip()[-2000:]
        raise SetupError(f"it could not begin (exit {ended}):\n{said}")
    line(run)
    talk(f"process {child.pid}" + (f", unit oneshot-{run}" if unit else "") + f"; it writes {log}")
    next_commands(f"oneshot watch {run}", f"oneshot stop {run}", f"oneshot status {run}")
    return 0


def inside(place: Place) -> bool:
    """Whether this is that process: the same command line means the foreground here."""
    return _INSIDE in place.settings.variables


def _this_command(more: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-c", "from controller.cli import main; main()", *sys.argv[1:],
            *more]


def _unit(place: Place, run: RunId) -> list[str]:
    """What makes a unit of the user's systemd of it, where there is one."""
    bus = place.settings.variables.get("XDG_RUNTIME_DIR", "")
    found = place.settings.find("systemd-run")
    if not found or not bus or not Path(bus, "systemd/private").exists():
        return []
    return [found, "--user", "--scope", "--collect", "--quiet", "--unit", f"oneshot-{run}", "--"]

