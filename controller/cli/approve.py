"""`oneshot approve`: a person allows an action."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import next_commands, talk
from controller.settings import from_environment


@click.command("approve")
@click.argument("confirmation", metavar="ID")
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.pass_obj
def command(folder: Path, confirmation: str, name: str | None) -> None:
    """Allow the action that waits as ID. It is judged again before it is done."""
    answer(folder, name, confirmation, approve=True)


def answer(folder: Path, name: str | None, confirmation: str, *, approve: bool,
           reason: str = "") -> None:
    """Write a person's answer into the record."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    place.desk.answer(run, confirmation, approve=approve, reason=reason, now=place.clock.now())
    talk(f"{confirmation} of {run} is {'approved' if approve else 'declined'}")
    next_commands(f"oneshot resume{place.named(run)}")
