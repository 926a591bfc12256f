"""`oneshot rollback`: go back to what a run was after an earlier step."""

from pathlib import Path

import click

from controller.cli.place import Place, open_place
from controller.cli.show import next_commands, talk
from controller.cli.travel import external_since, not_undone, take_back
from controller.cli.wiring import held, journal
from controller.core.canonical import entries
from controller.core.errors import SetupError
from controller.core.head import RunId, Stop
from controller.settings import from_environment
from controller.store.points import POINTS, point_at


@click.command("rollback")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--to", "step", type=int, required=True, metavar="STEP",
              help="The step to go back to; 0 is the start.")
@click.option("--reason", default="", help="Told to the model.")
@click.option("--accept-external", is_flag=True,
              help="Go back although something outside the worktree was changed since.")
@click.pass_obj
def command(folder: Path, name: str | None, step: int, reason: str, accept_external: bool) -> None:
    """Make a new version that equals an old state and worktree. Git commits stay on the branch."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    with held(place, run, journal(place)) as lease:
        stopped = place.queries.head(run).stopped
        if stopped and stopped.why is Stop.MOVED:
            raise SetupError(f"run {run} goes on elsewhere: {stopped.reason}")
        point = point_at(place.queries, run, step)
        outside = external_since(place, run, point.step)
        if outside and not accept_external:
            raise not_undone(outside)
        head = take_back(place, lease, point, reason)
    talk(f"run {run} is at version {head.version}: state and worktree as after step {point.step}"
         + (f" (step {step} committed nothing)" if point.step != step else ""))
    drifted = _drifted(place, run)
    if drifted:
        talk("note: what was changed in the worktree since its last step is kept: "
             f"git --git-dir={place.runs / run}/repo.git diff {point.snapshot.tree} {drifted}")
    next_commands(f"oneshot resume{place.named(run)}")


def _drifted(place: Place, run: RunId) -> str:
    """The tree that the worktree had before it was restored just now, if somebody had changed it
    since the last step; empty otherwise.
    """
    *_, last, restore = (record for record in place.queries.audit(run)
                         if record["kind"] in POINTS)
    before = str(entries(restore["outcome"])["tree_before"])
    return before if before != entries(last["outcome"])["tree"] else ""
