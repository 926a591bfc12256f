"""`oneshot export`: a run as one file."""

from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, open_place
from controller.cli.show import next_commands, talk
from controller.cli.wiring import held, journal
from controller.core.errors import SetupError
from controller.core.head import RunId, Stop, Stopped
from controller.settings import from_environment
from controller.store.bundle import gathered
from controller.store.bundle_file import write
from controller.store.rows import stopped_of
from controller.transfer import bundle


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--copy", is_flag=True, help="Leave the run free to go on here as well.")
@click.pass_obj
def command(folder: Path, file: Path, name: str | None, copy: bool) -> None:
    """Write a run (the last one by default) into FILE, to go on with elsewhere. It ends here."""
    place = open_place(folder, from_environment())
    run, store = place.run(name), journal(place)
    if not file.absolute().parent.is_dir():
        raise SetupError(f"{file}: there is no folder to write into")
    if file.exists():
        raise SetupError(f"{file}: is there already; choose another name, or remove it")
    before = _before(place, run)
    if before and before.why is Stop.FINISHED and not copy:
        raise SetupError(f"run {run} is finished; `--copy` writes it out all the same")
    with held(place, run, store) as lease:
        house = House(place, place.queries.launch(run))
        worktree = house.worktree(lease.worktree).take()
        if not copy:
            store.stop(lease, Stopped(Stop.MOVED, f"it was exported to {file.name}"),
                       place.clock.now())
        try:
            digest = write(gathered(place.tables, run, before, bundle(
                house.repo(), house.launch.base), worktree), file)
        except BaseException:
            if not copy:
                store.stop(lease, before, place.clock.now())
            raise
    talk(f"run {run} is in {file} (SHA-256 {digest})"
         + ("" if copy else "; it does not go on here"))
    next_commands(f"oneshot import {file.name}")


def _before(place: Place, run: RunId) -> Stopped | None:
    """Why the run stands still, or stood still before an export that was killed or lost."""
    stopped = place.queries.head(run).stopped
    if stopped is None or stopped.why is not Stop.MOVED:
        return stopped
    befores = [record.get("before") for record in place.queries.audit(run)
               if record["kind"] == "stopped"]
    return stopped_of(befores[-1]) if befores else None
