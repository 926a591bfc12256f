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
from controller.repo import ABSENT, Repo
from controller.settings import from_environment
from controller.store.points import last_point


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
    _refuse(place, run, restore=restore)
    with held(place, run, store) as lease:
        outside = external_since(place, run, 0)
        if store.open_effect(run):
            take_back(place, lease, last_point(place.queries, run), "")
        store.stop(lease, Stopped(Stop.ABORTED, reason), place.clock.now())
        if restore:
            _take_away(place, lease)
    for line in outside:
        talk(f"not undone, it is outside the worktree: {line}")
    talk(f"run {run} is ended")
    next_commands(f"oneshot log{place.named(run)}")


def _refuse(place: Place, run: RunId, *, restore: bool) -> None:
    """What is finished, or goes on elsewhere, is not to be ended here."""
    stopped = place.queries.head(run).stopped
    why = stopped.why if stopped else None
    if why is Stop.FINISHED:
        raise SetupError(f"run {run} is finished: its Git commit is proved and delivered; to be "
                         f"rid of it: git branch -D {branch_of(run)}")
    if stopped and why is Stop.MOVED:
        raise SetupError(f"run {run} goes on elsewhere: {stopped.reason}")
    if why is Stop.ABORTED and not restore:
        raise SetupError(f"run {run} is ended already")


def _take_away(place: Place, lease: Lease) -> None:
    """Remove the branch that the run delivered, and its worktrees. A branch with anybody else's
    Git commits, or one that is checked out, is left as it is.
    """
    run, user = lease.run, place.user
    house = House(place, place.queries.launch(run))
    branch, head = branch_of(run), branch_head(place.queries.head(run).state)
    ref, base = f"refs/heads/{branch}", house.launch.base
    if user.ref(ref):
        if user.checked_out(ref):
            talk(f"note: {branch} is left as it is: it is checked out")
        elif _others(user, base, ref, run) or not user.move_ref(ref, ABSENT, head):
            talk(f"note: {branch} is left as it is: somebody else has worked on it")
    remove(house.cache)


def _others(user: Repo, base: str, ref: str, run: RunId) -> bool:
    """Whether the branch has Git commits that are not the run's."""
    bodies = user.git("log", "-z", "--format=%B", ref, f"^{base}").decode("utf-8", "replace")
    return any(f"Oneshot-Run: {run}" not in body for body in bodies.split("\0") if body.strip())
