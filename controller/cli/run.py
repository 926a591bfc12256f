"""`oneshot run`: start a run and drive it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from controller.checkout import is_dirty, noticed
from controller.cli.background import begun, in_background, inside
from controller.cli.changes import Changes, Way, run_options
from controller.cli.confine import ready
from controller.cli.ending import gentle
from controller.cli.house import House
from controller.cli.live import View, WatchedExecutor, WatchedModel, shown
from controller.cli.migrate import bring_up
from controller.cli.place import Place, branch_of, new_launch, open_place
from controller.cli.show import exit_code, json_line, line, next_commands, talk
from controller.cli.status import next_steps, status_document
from controller.cli.supervised import tell
from controller.cli.tidy import Tidy
from controller.cli.wiring import build, build_models, held, journal, post_of, recorded
from controller.core.canonical import JsonObject, entries
from controller.core.errors import Damaged, ModelError, SetupError
from controller.core.head import Head, Launch, Lease, RunId, Stop
from controller.core.migrations import version_of
from controller.core.observation import one_line
from controller.core.prices import known_price
from controller.documents import of_documents
from controller.launch import launch
from controller.loop import current, run, wanted
from controller.parts import Controller
from controller.project import read_project
from controller.settings import from_environment
from controller.store.journal import Journal


@click.command("run")
@run_options
@click.option("--run-id", hidden=True, help="What the run is called; for --background.")
@click.pass_obj
def command(folder: Path, changes: Changes, way: Way, run_id: str | None) -> None:
    """Start a run of the contract in this repository and step until it ends or must stop."""
    place = open_place(folder, from_environment(), make=True)
    project = read_project(place.root)
    fixed = new_launch(place, replace(project, documents=changes.laid_over(project.documents)))
    if run_id:
        fixed = replace(fixed, run=RunId(run_id))
    click.get_current_context().exit(way.code(lambda: start(place, fixed, way)))


def start(place: Place, fixed: Launch, way: Way) -> int:
    """Begin a run and drive it, here or in the background. Returns the exit code."""
    if way.background and not inside(place):
        _check_limits(fixed, way)
        return in_background(place, fixed.run, "--run-id", fixed.run)
    _mention_others(place, way.as_json)
    if not way.as_json and is_dirty(place.user):
        talk("note: your checkout has changes that are not committed; the run starts from "
             f"{fixed.base[:12]} without them (.agent-contract is read as it is)")
    for what in () if way.as_json else noticed(place.user):
        talk(f"note: {what}")
    return drive_run(place, fixed, View(place.queries, way.as_json, way.quiet), way, new=True)


def _check_limits(fixed: Launch, way: Way) -> None:
    """A run that nothing ends must be wanted."""
    rules = of_documents(fixed.documents).rules
    ends = any(item.deadline or item.max_usd is not None for item in rules.contract.constraints)
    if not (rules.limits.any or ends or way.steps or way.no_limits):
        raise SetupError("nothing limits this run; give --max-steps, --max-time, --until or "
                         "--max-cost, or set limits in config.yaml (or say --no-limits)")
    unpriced = [name for name, config in rules.models.items() if not known_price(config, rules)]
    if rules.limits.usd is not None and unpriced and not way.as_json:
        talk(f"note: no price is known of {', '.join(unpriced)}: --max-cost holds only what the "
             "backend itself names; write `prices` into config.yaml")


def _mention_others(place: Place, as_json: bool) -> None:
    """Another run that has not ended is no obstacle, but worth a word."""
    for other in place.queries.runs()[-1:]:
        try:
            head = place.queries.head(other)
        except Damaged as fault:
            talk(f"note: {fault}")
            return
        if not as_json and (head.stopped is None or head.stopped.why is Stop.WAITING):
            talk(f"note: run {other} has not ended; from now on name it: oneshot status {other}")


def drive_run(place: Place, fixed: Launch, view: View, way: Way, *, new: bool = False) -> int:
    """Open the run if it is new, drive it, and tell what came of it. Returns the exit code."""
    _check_limits(fixed, way)
    tell(place.settings.variables, "READY=1")
    config = of_documents(fixed.documents).config
    watched = {name: WatchedModel(recorded(model, way.record), view)
               for name, model in build_models(place, fixed, config).items()}
    tidy, post = Tidy(place), post_of(place, fixed)
    begun(place)
    store = journal(place, view.written, tidy.written, post.written)
    with shown(view), gentle(place.clock) as ending:
        sandbox = ready(House(place, fixed), fixed, way.walls, view.waiting, silent=view.as_json)
        if new:
            view.waiting("checking every criterion on the base")
            _warn(launch(build(place, fixed, watched, store, sandbox), config.test_command), view)
        view.waiting("taking the lease")
        with held(place, fixed.run, store) as lease:
            store.inbox.grant_wish(lease)
            if not new:
                _bring_up(place, lease, store)
            tidy.snapshots = House(place, fixed).worktree(lease.worktree)

            def under(documents: JsonObject) -> Controller:
                now = replace(fixed, documents={**fixed.documents, **documents})
                ctl = build(place, now, watched, store, sandbox, lease, post)
                view.rules = ctl.rules
                return replace(ctl, executor=WatchedExecutor(ctl.executor, view),
                               ending=ending.asked)

            try:
                head = _drive(place, under, lease, way.steps)
            except ModelError:
                talk(f"run {fixed.run} is kept as it is; `oneshot resume` goes on")
                raise
    conclude(place, head, view)
    return ending.code if ending.code and not head.stopped else exit_code(head)


def _bring_up(place: Place, lease: Lease, store: Journal) -> None:
    """A run that was started under an older state schema goes on under the newest."""
    move = bring_up(place, lease.run)
    if move:
        head = store.migrate(lease, replace(move.head, state=move.state), move.new,
                             place.clock.now())
        talk(f"note: the state is brought to its schema's version {version_of(move.new)} (version "
             f"{head.version} of the run; `oneshot migrate --to start` goes back)")


def _drive(place: Place, under: Callable[[JsonObject], Controller], lease: Lease,
           steps: int | None) -> Head:
    """Step until the run stands still, under the newest contract at each moment."""
    last = None if steps is None else place.queries.head(lease.run).spent.steps + steps
    while True:
        ctl = under(place.documents(lease.run))
        taken = place.queries.head(lease.run).spent.steps
        head = run(ctl, lease, None if last is None else last - taken)
        if head.stopped or head.spent.steps == last or not wanted(ctl, lease) or (
                current(ctl, lease)):
            return head


def _warn(head: Head, view: View) -> None:
    """Say before money is spent that a run may prove nothing."""
    if not view.as_json and _held_before(head):
        talk("note: every criterion holds already, before any change: they prove nothing")


def _held_before(head: Head) -> bool:
    """Whether every criterion held on the base, before any change."""
    return all(entries(item).get("baseline") == "verified"
               for item in entries(head.state.get("criteria")).values())


def conclude(place: Place, head: Head, view: View) -> None:
    """The last lines of a run: what it came to, where it is, what to type next."""
    if view.as_json:
        json_line(status_document(place, head.run))
        return
    reason = one_line(head.stopped.reason, 400) if head.stopped else "it may go on"
    why = head.stopped.why.value if head.stopped else "paused"
    line(f"{why}: {reason} ({head.spent.steps} steps, version {head.version})")
    if view.quiet:
        return
    if head.stopped:
        from controller.report.page import write_report

        talk(f"report: {write_report(place.queries, head.run, place.runs / head.run)}")
    if head.stopped and head.stopped.why is Stop.FINISHED:
        talk(f"the Git commit is on branch {branch_of(head.run)}")
        if _held_before(head):
            talk("note: every criterion held before any change, so this proves nothing new")
    next_commands(*next_steps(place, head))
