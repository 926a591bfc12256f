"""`oneshot say`: a message to a run."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import talk
from controller.settings import from_environment


@click.command("say")
@click.argument("text")
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.pass_obj
def command(folder: Path, text: str, name: str | None) -> None:
    """Tell a run something. Its next step sees it once; an open question is answered by it."""
    if not text.strip():
        raise click.UsageError("expected a text to say, got an empty one")
    place = open_place(folder, from_environment())
    run = place.run(name)
    place.desk.say(run, text, place.clock.now())
    talk(f"the next step of {run} will see it")
