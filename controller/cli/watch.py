"""`oneshot watch`: follow a run that goes on in another process."""

from pathlib import Path

import click

from controller.cli.live import View
from controller.cli.place import Place, open_place
from controller.cli.run import conclude
from controller.cli.show import talk
from controller.cli.status import at_work, code_of
from controller.core.head import RunId
from controller.settings import from_environment

_LOOK = 1.0  # seconds between two looks at the record


@click.command("watch")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--exit-status", is_flag=True, help="Exit as the run does.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
@click.pass_obj
def command(folder: Path, name: str | None, exit_status: bool, as_json: bool) -> None:
    """Show what a run does (the last one by default), until nobody is at work on it."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    view = View(place.queries, as_json, seen=max(0, place.queries.last_number(run) - 5))
    _follow(place, run, view)
    head = place.queries.head(run)
    if not head.stopped and not as_json:
        talk("nobody is at work on it")
    conclude(place, head, view)
    click.get_current_context().exit(code_of(place, head) if exit_status else 0)


def _follow(place: Place, run: RunId, view: View) -> None:
    while True:
        working = at_work(place, run)  # before the look: what he wrote last is shown
        view.written(run)
        if not working:
            return
        place.clock.sleep(_LOOK)
