"""`oneshot abort`: end a run for good."""

from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, branch_of, open_place
from controller.cli.show import next_commands, talk
from controller.cli.travel import external_since, take_back
from controller.cli.wiring import held, journal
from controller.core.errors import SetupError
from controller.core.head import Lease, RunId, Stop, Stopped
from controller.core.projection import branch_head
from controller.folders import remove
from controller.repo import ABSENT
from controller.settings import from_environment
from controller.store.points import point_at
from controller.transfer import keep_objects


@click.command("abort")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--restore", is_flag=True,
              help="Also take the run's branch and worktree away: the repository is as before.")
@click.option("--reason", default="no reason given", help="Kept in the audit trail.")
@click.pass_obj
def command(folder: Path, name: str | None, restore: bool, reason: str) -> None:
    """End a run. Its record stays; an action that was half done is undone."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    store = journal(place)
    stopped = place.queries.head(run).stopped
    if stopped and stopped.why is Stop.FINISHED and not restore:
        raise SetupError(f"run {run} is finished; there is nothing to end")
    with held(place, run, store) as lease:
        if store.open_effect(run):
            last = point_at(place.queries, run, store.head(run).spent.steps)
            take_back(place, lease, last, "")
        store.stop(lease, Stopped(Stop.ABORTED, reason), place.clock.now())
        if restore:
            _take_away(place, lease)
    for line in external_since(place, run, 0):
        talk(f"not undone, it happened outside the worktree: {line}")
    talk(f"run {run} is ended" + (": the repository is as it was before" if restore else ""))
    next_commands(f"oneshot log{place.named(run)}")


def _take_away(place: Place, lease: Lease) -> None:
    """Remove the branch that the run delivered, if it is still where the run left it (our own
    repository keeps the Git commits), and its worktrees.
    """
    run: RunId = lease.run
    house = House(place, place.queries.launch(run))
    ref, head = f"refs/heads/{branch_of(run)}", branch_head(place.queries.head(run).state)
    keep_objects(house.repo(), place.user, house.launch.base, head)
    if place.user.ref(ref) and not place.user.move_ref(ref, ABSENT, head):
        talk(f"note: {branch_of(run)} is left as it is: somebody else has moved it")
    remove(house.cache)
