"""`oneshot say`: a message to a run."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import next_commands, talk
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
    asked = place.desk.say(run, text, place.clock.now())
    if not asked:
        talk(f"the next step of {run} will see it")
        return
    option = place.named(run, "--run")
    talk(f"this seems to contradict what you have locked, so it is not said yet ({asked}):")
    next_commands(f"oneshot approvals {asked}{option}     # both texts",
                  f"oneshot approve {asked}{option}       # what you say now takes its place",
                  f"oneshot deny {asked}{option}          # it stays as it is")
    click.get_current_context().exit(8)
