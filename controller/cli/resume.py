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
from controller.core.budget import may_go_on
from controller.core.canonical import JsonValue, canonical, entries
from controller.core.errors import SetupError
from controller.core.governed import items, said
from controller.core.head import Launch, RunId, Stop, Wish
from controller.core.projection import tree_of
from controller.documents import of_documents
from controller.project import read_project
from controller.report.narrator import Narrator
from controller.settings import from_environment


@click.command("resume")
@click.argument("name", metavar="[RUN]", required=False)
@run_options
@click.option("--or-start", is_flag=True,
              help="Start a run when there is none that can go on: for schedulers.")
@click.option("--run-id", hidden=True, help="As that of `run`.")
@click.pass_obj
def command(folder: Path, name: str | None, changes: Changes, way: Way, or_start: bool,
            run_id: str | None) -> None:
    """Go on with a run (the last one by default), after concluding what a crash left open."""
    place = open_place(folder, from_environment(), make=or_start)
    if or_start:
        project = read_project(place.root)
        new = new_launch(place, replace(project, documents=changes.laid_over(project.documents)))
        new = replace(new, run=RunId(run_id)) if run_id else new
        done = _done(place, new)
        if done is not None:
            click.get_current_context().exit(way.code(lambda: done))
        if not _can_go_on(place, changes):
            click.get_current_context().exit(way.code(lambda: start(place, new, way)))
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
    click.get_current_context().exit(way.code(lambda: drive_run(place, changed, view, way)))


def _done(place: Place, new: Launch) -> int | None:
    """The exit code when a scheduler has nothing to start: the last run has proved this very
    contract from this very Git commit, or it is stuck, and a person must look. None: go on.
    """
    known = place.queries.runs()
    head = place.queries.head(known[-1]) if known else None
    if head is None or head.stopped is None:
        return None
    if head.stopped.why is Stop.STUCK:
        talk(f"run {head.run} is stuck: {head.stopped.reason}; look at it, then `oneshot resume`")
        return 5
    last = place.queries.launch(head.run)
    same = last.base == new.base and _said(last.documents["contract"]) == _said(
        new.documents["contract"])
    if head.stopped.why is Stop.FINISHED and same:
        talk(f"run {head.run} has proved this contract already, from this Git commit")
        return 0
    return None


def _can_go_on(place: Place, changes: Changes) -> bool:
    """Whether the last run has something left to go on with."""
    known = place.queries.runs()
    if not known:
        return False
    head, fixed = place.queries.head(known[-1]), place.launch(known[-1])
    if head.stopped is None or head.stopped.why is Stop.WAITING:
        return True
    now = place.clock.now()
    rules = of_documents(changes.laid_over(fixed.documents)).rules
    return may_go_on(head, rules, (now - fixed.at).total_seconds(), now)


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
