"""`oneshot report`: the report page."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import line
from controller.report.page import write_report
from controller.settings import from_environment


@click.command("report")
@click.argument("name", metavar="[RUN]", required=False)
@click.pass_obj
def command(folder: Path, name: str | None) -> None:
    """Write the report page of a run (the last one by default) and print its path."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    line(str(write_report(place.queries, run, place.runs / run)))
