"""`oneshot stop`: let a controller that is at work end."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import click

from controller.cli.pause import wish
from controller.cli.place import Place, open_place
from controller.cli.show import next_commands, talk
from controller.core.errors import SetupError
from controller.core.head import RunId, Wish
from controller.processes import this_process
from controller.settings import from_environment

_BETWEEN = 0.3  # seconds between two signals, so that both are seen


@click.command("stop")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--now", is_flag=True, help="In the middle of a step; `resume` concludes it.")
@click.pass_obj
def command(folder: Path, name: str | None, now: bool) -> None:
    """Let the controller of a run end after the step it is in. `resume` goes on later."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    wish(place, run, Wish.STOP)
    if now:
        _terminate(place, run)
    talk(f"the controller of {run} ends {'now' if now else 'after this step'}")
    next_commands(f"oneshot resume{place.named(run)}")


def _terminate(place: Place, run: RunId) -> None:
    """Ask the process to end. It kills what it has started, and whatever is open is concluded by
    the next `resume`.
    """
    holder = place.queries.holder(run)
    if holder is None or holder.host != this_process().host:
        raise SetupError(f"the controller of run {run} is {holder or 'gone'}: --now is for one on "
                         "this machine; it ends after its step")
    os.kill(holder.pid, signal.SIGTERM)
    place.clock.sleep(_BETWEEN)
    with suppress(ProcessLookupError):
        os.kill(holder.pid, signal.SIGTERM)  # the first lets the step be finished
