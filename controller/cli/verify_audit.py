"""`oneshot verify-audit`: whether the audit trail of a run is whole."""

from pathlib import Path

import click

from controller.cli.place import open_place
from controller.cli.show import document, line
from controller.core.canonical import JsonObject
from controller.settings import from_environment
from controller.store.health import Health, file_fault, health


@click.command("verify-audit")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Check this audit.jsonl instead of the record.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_context
def command(context: click.Context, name: str | None, file: Path | None, as_json: bool) -> None:
    """Check the hash chain of a run's audit trail, and that what it names is there.

    The record is checked; audit.jsonl, which is written from it, only with --file.
    """
    if file:
        fault = file_fault(file)
        found: JsonObject = {"schema": "oneshot/audit@1", "file": str(file), "fault": fault}
        _tell(found, [fault or f"{file}: {len(file.read_bytes().splitlines())} records, the chain "
                      "holds"], as_json)
        context.exit(1 if fault else 0)
    place = open_place(context.obj, from_environment())
    run = place.run(name)
    result = health(place.queries, run)
    _tell({"schema": "oneshot/audit@1", "run": run, "records": result.records,
           "last": result.last, "faults": list(result.faults)}, _lines(run, result), as_json)
    context.exit(1 if result.faults else 0)


def _lines(run: str, found: Health) -> list[str]:
    if not found.faults:
        return [f"run {run}: {found.records} records, the chain holds; the last is {found.last}"]
    return [f"run {run}: {fault}" for fault in found.faults] + [found.rest]


def _tell(value: JsonObject, lines: list[str], as_json: bool) -> None:
    if as_json:
        document(value)
        return
    for text in lines:
        line(text)
