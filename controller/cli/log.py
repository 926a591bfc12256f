"""`oneshot log`: the audit trail, a line a record."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import line
from controller.report.narrator import Narrator, sentence
from controller.settings import from_environment


@click.command("log")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Records as JSON lines.")
@click.pass_obj
def command(folder: Path, name: str | None, as_json: bool) -> None:
    """List every step, refusal and answer of a run (the last one by default)."""
    import json

    place = open_place(folder, from_environment())
    narrator = Narrator()
    for record in place.queries.audit(place.run(name)):
        if as_json:
            click.echo(json.dumps({"message": sentence(record), **record}))
        else:
            for text in narrator.tell(record):
                line(text)
