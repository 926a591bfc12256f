"""`oneshot models`: which model interfaces are there, and what each can be reached with."""

from pathlib import Path

import click

from controller.cli.interfaces import Interface, interfaces
from controller.cli.show import document, line, mark, next_commands, table
from controller.core.canonical import JsonValue
from controller.core.prices import as_of
from controller.settings import from_environment


@click.command("models")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, as_json: bool) -> None:
    """List the model interfaces of this machine: program, version, key or login. Nobody is asked.

    `oneshot doctor --models` measures what each really sends.
    """
    found = list(interfaces(from_environment()))
    if as_json:
        rows: list[JsonValue] = [{
            "name": one.name, "usable": one.usable, "program": one.program, "version": one.version,
            "known": one.known, "by": one.by} for one in found]
        document({"schema": "oneshot/models@1", "prices_of": as_of(), "models": rows})
        return
    table([(mark(one.usable), one.name, _program(one), one.by) for one in found])
    line(f"list prices of {as_of()}; yours in config.yaml come first")
    next_commands("oneshot doctor --models", "oneshot run --adapter NAME --model NAME")


def _program(one: Interface) -> str:
    if not one.program:
        return "no program needed"
    if not one.version:
        return f"{one.program} is not on PATH"
    same = one.known in one.version
    return one.version + ("" if same or not one.known else f" (measured with {one.known})")
