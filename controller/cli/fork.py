"""`oneshot fork`: a new run from an earlier step of another."""

from dataclasses import replace
from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, branch_of, open_place, run_id
from controller.cli.show import next_commands, talk
from controller.cli.travel import require, state_now
from controller.cli.wiring import journal
from controller.core.canonical import JsonObject
from controller.core.facts import Source
from controller.core.head import Head, Launch, RunId, Spent
from controller.core.projection import agreements, as_state, budget
from controller.core.review import sources
from controller.documents import of_documents
from controller.settings import from_environment
from controller.snapshots import Snapshots
from controller.store.points import Point, point_at


@click.command("fork")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--from", "step", type=int, required=True, metavar="STEP",
              help="The step to start from; 0 is the start.")
@click.pass_obj
def command(folder: Path, name: str | None, step: int) -> None:
    """Make a new run that begins where another was after STEP, with a budget of its own."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    point = point_at(place.queries, run, step)
    new = _forked(place, run, point)
    talk(f"run {new.run} begins where {run} was after step {point.step}"
         + (f" (step {step} committed nothing)" if point.step != step else ""))
    talk(f"note: it is the last run now; name the other one: oneshot status {run}")
    next_commands(f"oneshot resume {new.run}")


def _forked(place: Place, run: RunId, point: Point) -> Launch:
    """The new run. Its record is written last: until then nothing of it is known."""
    old = place.launch(run)
    rules = of_documents(old.documents).rules
    now = place.clock.now()
    new = replace(old, run=run_id(old.goal, point.git_commit, now), at=now, folder="")
    theirs, ours = House(place, old), House(place, new)
    require(Snapshots(theirs.bare(), old.base), point)
    ours.take_over(theirs, point.snapshot, point.git_commit,
                   *(tree for tree, _ in agreements(point.state)))
    source = Source(branch_of(new.run), old.base, point.git_commit,
                    ours.repo().tree_of(point.git_commit), point.snapshot.tree,
                    point.snapshot.extras)
    before = state_now(point, old)
    state: JsonObject = {**before, "source_authority": as_state(source, before),
                         "budget": budget(Spent(), rules)}
    head = Head(new.run, 0, state, f"This run begins where run {run} was after step {point.step}.",
                point.observation, extras=point.snapshot.extras,
                contract=rules.contract.version,
                marks={"sources": sources({}, {}, state, point.snapshot.tree)})
    journal(place).create(new, head, (), {"run": run, "step": point.step,
                                          "version": point.version})
    return new
