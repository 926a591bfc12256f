"""`oneshot blame`: who last set a path of the state."""

import json
from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import document, table
from controller.core.observation import first_line
from controller.core.pointer import split
from controller.core.rules import CONTROLLER
from controller.documents import of_documents
from controller.settings import from_environment
from controller.store.points import blame


@click.command("blame")
@click.argument("path")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, path: str, name: str | None, as_json: bool) -> None:
    """Show for PATH of the state (such as /facts/cause) and all below it: the step that last set
    it, on whose word, and who owns it.
    """
    place = open_place(folder, from_environment())
    run = place.run(name)
    found = blame(place.queries, run, path.rstrip("/"))
    owners = of_documents(place.queries.launch(run).documents).rules.owners
    if as_json:
        document({"schema": "oneshot/blame@1", "run": run, "lines": [
            {"path": item.path, "value": item.value, "step": item.step, "version": item.version,
             "source": item.source, "owner": _owner(item.path, owners)} for item in found]})
        return
    table([(f"step {item.step}", _owner(item.path, owners), item.path,
            first_line(json.dumps(item.value, ensure_ascii=False), 60), item.source)
           for item in found])


def _owner(path: str, owners: dict[str, str]) -> str:
    top = (*split(path), "")[0]
    return owners.get(top, CONTROLLER)
