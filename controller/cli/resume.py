"""`oneshot resume`: conclude what is open, then go on."""

from dataclasses import replace
from pathlib import Path

import click

from controller.cli.changes import Changes, run_options
from controller.cli.live import View
from controller.cli.place import Place, open_place
from controller.cli.run import drive_run
from controller.cli.show import talk
from controller.core.errors import SetupError
from controller.core.head import Launch
from controller.core.projection import tree_of
from controller.core.tier import Tier
from controller.project import read_project
from controller.report.narrator import Narrator
from controller.settings import from_environment


@click.command("resume")
@click.argument("name", metavar="[RUN]", required=False)
@run_options
@click.pass_obj
def command(folder: Path, name: str | None, changes: Changes, walls: Tier | None,
           steps: int | None, record: Path | None, as_json: bool, quiet: bool) -> None:
    """Go on with a run (the last one by default), after concluding what a crash left open."""
    place = open_place(folder, from_environment())
    fixed = place.queries.launch(place.run(name))
    if not as_json:
        _mention_contract(place, fixed)
    known = Narrator(tree_of(place.queries.head(fixed.run).state))
    view = View(place.queries, as_json, quiet, seen=place.queries.last_number(fixed.run),
                narrator=known)
    changed = replace(fixed, documents=changes.laid_over(fixed.documents))
    click.get_current_context().exit(
        drive_run(place, changed, view, walls, record=record, steps=steps))


def _mention_contract(place: Place, fixed: Launch) -> None:
    """A run keeps the contract that it was started with; say so when there is another now."""
    try:
        now = read_project(place.root).documents["contract"]
    except SetupError:
        return
    if now != fixed.documents["contract"]:
        talk("note: the contract has changed since this run began; it goes on with the old one")
