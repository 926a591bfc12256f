"""`oneshot resume`: conclude what is open, then go on."""

from dataclasses import replace
from pathlib import Path

import click

from controller.cli.live import Narrator, View
from controller.cli.place import Place, open_place, with_limits, with_model
from controller.cli.run import drive_run
from controller.cli.show import talk
from controller.cli.wiring import ADAPTERS
from controller.core.errors import SetupError
from controller.core.head import Launch
from controller.core.projection import tree_of
from controller.project import read_project
from controller.settings import from_environment


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--steps", type=click.IntRange(1), help="Stop after so many steps of this call.")
@click.option("--max-steps", type=click.IntRange(1), help="Another limit of steps.")
@click.option("--max-time", type=click.IntRange(1), metavar="SECONDS", help="Another time limit.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD",
              help="Another limit of money.")
@click.option("--adapter", type=click.Choice(sorted(ADAPTERS)), help="Another model interface.")
@click.option("--model", metavar="NAME", help="Another model.")
@click.option("--base-url", metavar="URL", help="A server that speaks the same API.")
@click.option("--cassette", type=click.Path(dir_okay=False), help="For the scripted adapter.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write the replies as a cassette.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
@click.option("-q", "--quiet", is_flag=True, help="Only the last line.")
@click.pass_obj
def resume(folder: Path, name: str | None, steps: int | None, max_steps: int | None,
           max_time: int | None, max_cost: float | None, adapter: str | None, model: str | None,
           base_url: str | None, cassette: str | None, record: Path | None, as_json: bool,
           quiet: bool) -> None:
    """Go on with a run (the last one by default), after concluding what a crash left open."""
    place = open_place(folder, from_environment())
    fixed = place.queries.launch(place.run(name))
    documents = with_limits(fixed.documents, {
        "steps": max_steps, "seconds": max_time, "usd": max_cost})
    _mention_contract(place, fixed)
    documents = with_model(documents, {
        "adapter": adapter, "model": model, "base_url": base_url,
        "cassette": str(Path(cassette).absolute()) if cassette else None})
    known = Narrator(tree_of(place.queries.head(fixed.run).state))
    view = View(place.queries, as_json, quiet, seen=place.queries.last_number(fixed.run),
                narrator=known)
    click.get_current_context().exit(drive_run(
        place, replace(fixed, documents=documents), view, record=record, steps=steps))


def _mention_contract(place: Place, fixed: Launch) -> None:
    """A run keeps the contract that it was started with; say so when there is another now."""
    try:
        now = read_project(place.root).documents["contract"]
    except SetupError:
        return
    if now != fixed.documents["contract"]:
        talk("note: the contract has changed since this run began; it goes on with the old one")
