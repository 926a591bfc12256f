"""`oneshot deny`: a person declines an action."""

from pathlib import Path

import click

from controller.cli.approve import answer


@click.command("deny")
@click.argument("confirmation", metavar="ID")
@click.option("--reason", default="", help="Told to the model.")
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.pass_obj
def command(folder: Path, confirmation: str, reason: str, name: str | None) -> None:
    """Decline the action that waits as ID; the run goes on another way."""
    answer(folder, name, confirmation, approve=False, reason=reason)
