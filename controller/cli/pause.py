"""`oneshot pause`: let a controller that is at work stand still between two steps."""

from pathlib import Path

import click

from controller.cli.place import Place, open_place
from controller.cli.show import next_commands, talk
from controller.cli.status import at_work
from controller.core.errors import SetupError
from controller.core.head import RunId, Wish
from controller.settings import from_environment


@click.command("pause")
@click.argument("name", metavar="[RUN]", required=False)
@click.pass_obj
def command(folder: Path, name: str | None) -> None:
    """Let the run stand still after the step it is in; its process stays. `resume` goes on."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    wish(place, run, Wish.PAUSE)
    talk(f"run {run} stands still after this step")
    next_commands(f"oneshot resume{place.named(run)}", f"oneshot stop{place.named(run)}")


def wish(place: Place, run: RunId, wanted: Wish) -> None:
    """Leave a wish for whoever is at work on a run. Raises SetupError when nobody is."""
    if not at_work(place, run):
        raise SetupError(f"nobody is at work on run {run}; `oneshot status` says where it stands")
    place.desk.wish(run, wanted, place.clock.now())
