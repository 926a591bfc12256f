"""`oneshot answer`: a person answers a question of the model's."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import next_commands, talk
from controller.settings import from_environment


@click.command("answer")
@click.argument("question", metavar="ID")
@click.argument("text")
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.pass_obj
def command(folder: Path, question: str, text: str, name: str | None) -> None:
    """Answer the question ID; the run's next step is told."""
    if not text.strip():
        raise click.UsageError("expected an answer, got an empty one")
    place = open_place(folder, from_environment())
    run = place.run(name)
    place.desk.reply(run, question, text, place.clock.now())
    talk(f"{question} of {run} is answered")
    next_commands(f"oneshot resume{place.named(run)}")
