"""`oneshot import`: go on with a run that was exported elsewhere."""

from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, branch_of, open_place
from controller.cli.show import next_commands, talk
from controller.core.canonical import digest_bytes, entries
from controller.core.errors import SetupError, WorldError
from controller.core.facts import Snapshot
from controller.core.head import Launch, RunId, Stop
from controller.core.projection import branch_head, tree_of
from controller.documents import of_documents
from controller.folders import aside_of
from controller.repo import ABSENT, Repo
from controller.settings import from_environment
from controller.snapshots import Snapshots
from controller.store.bundle import Bundle, fitting, store
from controller.store.bundle_file import read
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
    fitting(place.tables, bundle)
    house = _house(place, bundle.run)
    repo = _objects(place, bundle, file)
    _set_aside(house)
    store(place.tables, place.seal, bundle, place.clock.now(), house.launch.folder)
    house.settle(bundle.worktree)
    _deliver(place, bundle, repo)
    Projections(place.queries, place.runs).catch_up(bundle.run)
    talk(f"run {bundle.run} is here now, at version {bundle.row.head['version']}; every digest of "
         "the bundle matches")
    next_commands(f"oneshot resume{place.named(bundle.run)}")


def _check_documents(file: Path, bundle: Bundle) -> None:
    """Contract, policy and config must be ones that this version can go on under."""
    try:
        of_documents(bundle.fixed.documents)
        for version in bundle.contracts:
            of_documents({**bundle.fixed.documents, "contract": version["document"]})
    except (KeyError, ValueError, TypeError, AssertionError) as fault:
        raise SetupError(f"{file}: its contract, policy or config is not one that this oneshot can "
                         f"go on under: {fault!r}") from fault


def _house(place: Place, run: RunId) -> House:
    """Where the run is going to live: another checkout may have a run of this id."""
    if run in place.queries.runs():
        return House(place, place.queries.launch(run))
    mark = digest_bytes(str(place.root).encode())[:6]
    return House(place, Launch(run, "", "", place.clock.now(), folder=f"{run}-{mark}"))


def _set_aside(house: House) -> None:
    """What is left of an earlier stay is of no use, but nothing of it is removed."""
    if house.cache.exists():
        house.cache.rename(aside_of(house.cache))


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
            raise SetupError(f"run {bundle.run} is here already, and goes on here; nothing was "
                             "imported")


def _objects(place: Place, bundle: Bundle, file: Path) -> Repo:
    """The run's own repository, with the Git objects of the bundle."""
    repo = House(place, bundle.fixed).bare()
    unbundle(repo, bundle.repo, f"refs/heads/{branch_of(bundle.run)}", "refs/oneshot/")
    wanted = Snapshot(tree_of(entries(bundle.row.head["state"])),
                      str(bundle.row.head.get("extras", "")))
    if not all(Snapshots(repo, bundle.fixed.base).has(one) for one in (wanted, bundle.worktree)):
        raise SetupError(f"{file}: the snapshot that the run stands at is not in it")
    return repo


def _deliver(place: Place, bundle: Bundle, repo: Repo) -> None:
    """The run's Git commit to the user's branch, unless somebody has moved that meanwhile."""
    head, base = branch_head(entries(bundle.row.head["state"])), bundle.fixed.base
    ref = f"refs/heads/{branch_of(bundle.run)}"
    here = place.user.ref(ref)
    if head and head != base and here != head and (
            here is None or here in repo.git("rev-list", head).decode().split()):
        take_objects(place.user, repo, head, [base])
        place.user.move_ref(ref, head, here or ABSENT)
