"""`oneshot diff`: what changed between two steps."""

from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import open_place
from controller.cli.show import document, line, talk
from controller.core.canonical import JsonValue
from controller.core.changes import Changed, changes
from controller.core.observation import first_line
from controller.settings import from_environment
from controller.store.points import Point, point_at


@click.command("diff")
@click.argument("a", type=int)
@click.argument("b", type=int)
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--stat", is_flag=True, help="Name the changed files instead of showing their lines.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, a: int, b: int, name: str | None, stat: bool, as_json: bool) -> None:
    """Show what changed in state and worktree from after step A to after step B."""
    place = open_place(folder, from_environment())
    run = place.run(name)
    old, new = (point_at(place.queries, run, step) for step in (a, b))
    repo = House(place, place.queries.launch(run)).bare()
    files = repo.changed(old.snapshot.tree, new.snapshot.tree)
    if as_json:
        document({"schema": "oneshot/diff@1", "run": run, "from": _named(old), "to": _named(new),
                  "state": [{"path": c.path, "old": c.old, "new": c.new}
                            for c in changes(old.state, new.state)],
                  "files": [{"status": letter, "path": path} for letter, path in files]})
        return
    for change in changes(old.state, new.state):
        line(_told(change))
    for letter, path in files if stat else ():
        line(f"{letter} {path}")
    if not stat:
        patch = repo.git("diff-tree", "-p", "-r", "--no-ext-diff", "--no-textconv",
                         old.snapshot.tree, new.snapshot.tree)
        line(patch.decode("utf-8", "replace").rstrip())
    if not files and old.state == new.state:
        talk(f"nothing changed between step {old.step} and step {new.step}")


def _named(point: Point) -> JsonValue:
    return {"step": point.step, "version": point.version, "tree": point.snapshot.tree}


def _told(change: Changed) -> str:
    if change.old is None:
        return f"+ {change.path}: {_short(change.new)}"
    if change.new is None:
        return f"- {change.path}: {_short(change.old)}"
    return f"~ {change.path}: {_short(change.old)} → {_short(change.new)}"


def _short(value: JsonValue) -> str:
    import json

    return first_line(json.dumps(value, ensure_ascii=False), 120)
