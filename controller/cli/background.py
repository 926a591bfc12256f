"""A run in a process of its own, which outlives the terminal that it was started from.

Where systemd runs for the user it is a unit (`systemctl --user status oneshot-RUN.scope`), which
also outlives the log-out when lingering is on; elsewhere a process in a session of its own.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from controller.cli.place import Place
from controller.cli.show import line, next_commands, talk
from controller.core.head import RunId
from controller.folders import remove
from controller.process import detached

_INSIDE = "ONESHOT_IN_BACKGROUND"
"""The variable that a process in the background finds: a file to be made when it has begun."""

_BEGINS, _LOOK = 20.0, 0.1  # seconds in which it says that it has begun, and between two looks


def in_background(place: Place, run: RunId, *more: str) -> int:
    """Do what this command line says, and `more`, in a process of its own. Returns the exit code:
    0 when it has begun.
    """
    log = place.runs / run / "console.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    unit, marker = _unit(place, run), log.with_name("begun")
    marker.unlink(missing_ok=True)
    child = detached([*unit, *_this_command(more)], Path.cwd(),
                     {**os.environ, _INSIDE: str(marker)}, log)
    ended = None
    for _ in range(round(_BEGINS / _LOOK)):
        ended = child.ended_within(_LOOK)
        if ended is not None or marker.exists():
            break
    marker.unlink(missing_ok=True)
    if ended:
        said = log.read_text("utf-8", "replace").strip()[-2000:]
        if run not in place.queries.runs():
            remove(log.parent)
        talk(f"it could not begin:\n{said}")
        return ended
    line(run)
    talk(f"process {child.pid}" + (f", unit oneshot-{run}.scope" if unit else "")
         + f"; it writes {log}")
    if run not in place.queries.runs():
        talk("it checks every criterion on the base first; the run is there when that is done")
        next_commands(f"tail -f {log}")
    next_commands(f"oneshot watch {run}", f"oneshot stop {run}", f"oneshot status {run}")
    return 0


def inside(place: Place) -> bool:
    """Whether this is that process: the same command line means the foreground here."""
    return _INSIDE in place.settings.variables


def begun(place: Place) -> None:
    """Say, from that process, that whatever could keep it from beginning is past."""
    marker = place.settings.variables.get(_INSIDE)
    if marker:
        Path(marker).touch()


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

