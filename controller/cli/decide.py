"""`oneshot decide`: a person says what nobody else could."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import next_commands, talk
from controller.settings import from_environment


@click.command("decide")
@click.argument("question", metavar="ID")
@click.argument("answer", type=click.Choice(["happened", "did-not"]))
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.pass_obj
def command(folder: Path, question: str, answer: str, name: str | None) -> None:
    """Say whether the action of unknown outcome ID happened. If it did not, it is done again."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    place.desk.decide(run, question, happened=answer == "happened", now=place.clock.now())
    talk(f"{question} of {run}: it {'happened' if answer == 'happened' else 'did not happen'}")
    next_commands(f"oneshot resume{place.named(run)}")
