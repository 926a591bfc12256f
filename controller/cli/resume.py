"""`oneshot resume`: conclude what is open, then go on."""

from dataclasses import replace
from pathlib import Path

import click

from controller.cli.background import in_background, inside
from controller.cli.changes import Changes, Way, run_options
from controller.cli.live import View
from controller.cli.place import Place, new_launch, open_place
from controller.cli.run import drive_run, start
from controller.cli.show import talk
from controller.cli.status import at_work
from controller.core.canonical import JsonValue, canonical, entries
from controller.core.errors import SetupError
from controller.core.governed import items, said
from controller.core.head import Launch, Stop, Wish
from controller.core.projection import tree_of
from controller.project import read_project
from controller.report.narrator import Narrator
from controller.settings import from_environment


@click.command("resume")
@click.argument("name", metavar="[RUN]", required=False)
@run_options
@click.option("--or-start", is_flag=True,
              help="Start a run when there is none that can go on: for schedulers.")
@click.pass_obj
def command(folder: Path, name: str | None, changes: Changes, way: Way, or_start: bool) -> None:
    """Go on with a run (the last one by default), after concluding what a crash left open."""
    place = open_place(folder, from_environment(), make=or_start)
    if or_start and not _can_go_on(place):
        project = read_project(place.root)
        new = new_launch(place, replace(project, documents=changes.laid_over(project.documents)))
        click.get_current_context().exit(way.code(start(place, new, way)))
    fixed = place.queries.launch(place.run(name))
    row = place.tables.run(fixed.run)
    if row and row.wish == Wish.PAUSE.value and at_work(place, fixed.run):
        place.desk.wish(fixed.run, Wish.NONE, place.clock.now())
        talk(f"run {fixed.run} goes on in the process that was paused")
        return
    if way.background and not inside(place):
        click.get_current_context().exit(in_background(place, fixed.run))
    if not way.as_json:
        _mention_contract(place, fixed)
    known = Narrator(tree_of(place.queries.head(fixed.run).state))
    view = View(place.queries, way.as_json, way.quiet, seen=place.queries.last_number(fixed.run),
                narrator=known)
    changed = replace(fixed, documents=changes.laid_over(fixed.documents))
    click.get_current_context().exit(way.code(drive_run(place, changed, view, way)))


def _can_go_on(place: Place) -> bool:
    """Whether the last run is one that has not ended for good."""
    known = place.queries.runs()
    stopped = place.queries.head(known[-1]).stopped if known else None
    return bool(known) and (stopped is None or stopped.why not in (
        Stop.FINISHED, Stop.ABORTED, Stop.MOVED))


def _mention_contract(place: Place, fixed: Launch) -> None:
    """A run keeps its contract; say so when the file says something else now."""
    try:
        now = read_project(place.root).documents["contract"]
    except SetupError:
        return
    mine = fixed.documents["contract"]
    if _said(now) != _said(mine):
        talk("note: the contract's file has changed since this run began; it goes on with its own "
             "(`oneshot intent` shows and changes that)")


def _said(contract: JsonValue) -> list[str]:
    """What a contract says, whoever has said it when."""
    document = entries(contract)
    if "last" not in document:  # a run of before contracts had versions
        return [canonical(contract).decode()]
    return sorted(f"{item['id']}: {said(item)}" for _, item in items(document))
