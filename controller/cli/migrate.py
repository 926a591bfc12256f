"""`oneshot migrate`: bring the state of a run to another version of its schema."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import click

import contracts
from controller.cli.place import Place, open_place
from controller.cli.show import line, next_commands, talk
from controller.cli.wiring import held, journal
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.changes import changes
from controller.core.errors import SetupError
from controller.core.head import Head, RunId
from controller.core.migrations import domain_of, migrated, unfit, version_of
from controller.project import read_project
from controller.settings import from_environment


@dataclass(frozen=True, slots=True)
class Move:
    """A state under the schema that it has, and under the one that it is to have."""

    head: Head
    old: JsonObject
    new: JsonObject

    @property
    def state(self) -> JsonObject:
        """What the state becomes."""
        return migrated(self.head.state, self.old, self.new)


@click.command("migrate")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--to", "where", type=click.Choice(["newest", "project", "start"]), default="newest",
              help="The schema that ships now, the project's own, or the one it was started with.")
@click.pass_obj
def command(folder: Path, name: str | None, dry_run: bool, where: str) -> None:
    """Bring a run's state to another version of its schema. What it was stays in the record."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    move = _move(place, run, where)
    for change in changes(move.head.state, move.state):
        line(f"{change.path}: {_short(change.old)} -> {_short(change.new)}")
    _refuse_misfits(move)
    if dry_run:
        talk(f"schema {_named(move.old)} -> {_named(move.new)}; nothing was changed")
        return
    with held(place, run, journal(place)) as lease:
        store = journal(place)
        if store.open_effect(run):
            raise SetupError(f"run {run} has an action open; `oneshot resume` concludes it first")
        head = store.migrate(lease, replace(_move(place, run, where).head, state=move.state),
                             move.new, place.clock.now())
    talk(f"run {run} is at version {head.version} under schema {_named(move.new)}; its state "
         f"before that is version {move.head.version}")
    next_commands(f"oneshot resume{place.named(run)}")


def bring_up(place: Place, run: RunId) -> Move | None:
    """What a run that is resumed has to move to: the shipped version of the schema that it was
    started with, when that was the shipped one then. None: nothing, or something is open.

    Raises SetupError, with every reason, when its state does not fit.
    """
    move = _move(place, run, "newest")
    if (domain_of(move.old) != domain_of(move.new) or not _shipped_once(move.old)
            or version_of(move.old) >= version_of(move.new) or place.queries.effect(run)):
        return None
    _refuse_misfits(move)
    return move


def _move(place: Place, run: RunId, where: str) -> Move:
    fixed, head = place.launch(run), place.queries.head(run)
    old = entries(fixed.documents["state_schema"])
    if where == "project":
        return Move(head, old, read_project(place.root).rules.state_schema)
    if where == "start":
        return Move(head, old, entries(place.queries.launch(run).documents["state_schema"]))
    return Move(head, old, cast("JsonObject", contracts.domain("coding")))  # JSON, as it was parsed


def _shipped_once(schema: JsonObject) -> bool:
    """Whether a schema is, to the letter, one that came with an older oneshot."""
    try:
        return contracts.domain("coding", version_of(schema)) == schema
    except FileNotFoundError:
        return False


def _refuse_misfits(move: Move) -> None:
    found = unfit(move.state, move.new)
    if found:
        raise SetupError("\n".join([
            f"the state does not fit schema {_named(move.new)}; nothing was changed:",
            *(f"  {fault}" for fault in found)]))


def _named(schema: JsonObject) -> str:
    return f"{domain_of(schema) or 'of yours'}@{version_of(schema)}"


def _short(value: object) -> str:
    text = canonical(json.loads(json.dumps(value))).decode()
    return text if len(text) <= 120 else text[:119] + "…"
