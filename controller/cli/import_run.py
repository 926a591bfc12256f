"""`oneshot import`: go on with a run that was exported elsewhere."""

from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, branch_of, open_place
from controller.cli.show import next_commands, talk
from controller.core.canonical import digest_bytes
from controller.core.errors import SetupError, WorldError
from controller.core.head import Launch, RunId, Stop
from controller.core.projection import branch_head, tree_of
from controller.core.records import Snapshot
from controller.documents import of_documents
from controller.folders import remove
from controller.repo import ABSENT
from controller.settings import from_environment
from controller.snapshots import Snapshots
from controller.store.bundle import Bundle, read, store
from controller.store.projections import Projections
from controller.transfer import take_objects, unbundle


@click.command("import")
@click.argument("file", type=click.Path(exists=True, path_type=Path, dir_okay=False))
@click.pass_obj
def command(folder: Path, file: Path) -> None:
    """Verify the bundle FILE and take its run over into this checkout."""
    place = open_place(folder, from_environment(), make=True)
    bundle = read(file)
    _check_documents(file, bundle)
    _refuse_what_is_here(place, bundle)
    _take_objects(place, bundle, file)
    store(place.tables, bundle, place.clock.now(), _folder(place, bundle.run))
    Projections(place.queries, place.runs).catch_up(bundle.run)
    talk(f"run {bundle.run} is here now, at version {bundle.row.head['version']}; every digest of "
         "the bundle matches")
    next_commands(f"oneshot resume{place.named(bundle.run)}")


def _check_documents(file: Path, bundle: Bundle) -> None:
    """Contract, policy and config must be ones that this version can go on under."""
    try:
        of_documents(bundle.fixed.documents)
    except (KeyError, ValueError, TypeError, AssertionError) as fault:
        raise SetupError(f"{file}: its contract, policy or config is not one that this oneshot can "
                         f"go on under: {fault!r}") from fault


def _folder(place: Place, run: RunId) -> str:
    """The name of the folder for its worktrees: another checkout may have a run of this id.

    What is left there of an earlier stay is of no use: the worktree is made from the record.
    """
    if run in place.queries.runs():
        launch = place.queries.launch(run)
    else:
        launch = Launch(run, "", "", place.clock.now(), folder=(
            f"{run}-{digest_bytes(str(place.root).encode())[:6]}"))
    remove(House(place, launch).cache)
    return launch.folder


def _refuse_what_is_here(place: Place, bundle: Bundle) -> None:
    base = bundle.fixed.base
    try:
        place.user.commit(base)
    except WorldError:
        raise SetupError(f"this repository does not have Git commit {base}, which the run started "
                         "from; fetch it first") from None
    if bundle.run in place.queries.runs():
        stopped = place.queries.head(bundle.run).stopped
        if stopped is None or stopped.why is not Stop.MOVED:
            raise SetupError(f"there is a run {bundle.run} here, and it was not exported; nothing "
                             "was imported")


def _take_objects(place: Place, bundle: Bundle, file: Path) -> None:
    """The run's Git objects into its own repository, and its Git commit to the user's branch."""
    house = House(place, bundle.fixed)
    repo, state, head = house.repo(), bundle.row.head["state"], ""
    unbundle(repo, bundle.repo, f"refs/heads/{branch_of(bundle.run)}", "refs/oneshot/")
    if isinstance(state, dict):
        head = branch_head(state)
        wanted = Snapshot(tree_of(state), str(bundle.row.head.get("extras", "")))
        if not Snapshots(repo, bundle.fixed.base).has(wanted):
            raise SetupError(f"{file}: the snapshot that the run stands at is not in it")
    ref = f"refs/heads/{branch_of(bundle.run)}"
    if head and head != bundle.fixed.base and place.user.ref(ref) is None:
        take_objects(place.user, repo, head, [bundle.fixed.base])
        place.user.move_ref(ref, head, ABSENT)
