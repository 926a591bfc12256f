"""`oneshot approvals`: what waits for a person, and what he would agree to."""

from collections.abc import Iterator
from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, open_place
from controller.cli.show import document, line, next_commands, table
from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.errors import SetupError
from controller.core.head import RunId
from controller.core.observation import one_line
from controller.core.projection import branch_head
from controller.core.showing import barred, details
from controller.settings import from_environment
from controller.store.contracts import document as contract_document

_SHOWN = 400  # lines of a difference


@click.command("approvals")
@click.argument("confirmation", metavar="[ID]", required=False)
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.option("--all", "every", is_flag=True, help="Also what is answered.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, confirmation: str | None, name: str | None, every: bool,
            as_json: bool) -> None:
    """List what waits for you; with ID show the exact command or difference, and why it is asked.
    """
    place = open_place(folder, from_environment())
    run = place.run(name)
    found = list(place.queries.confirmations(run) if every or confirmation
                 else place.queries.questions(run))
    if confirmation:
        _detail(place, run, _one(found, confirmation), as_json)
    elif as_json:
        rows: list[JsonValue] = [brief(item) for item in found]
        document({"schema": "oneshot/approvals@1", "run": run, "waiting": rows})
    else:
        table([(str(item["id"]), str(item["kind"]), str(item["status"]),
                one_line(str(item["summary"]), 120))
               for item in found])
        next_commands(*(f"oneshot approvals {item['id']}{place.named(run, '--run')}"
                        for item in found if item["status"] == "open"))


def brief(item: JsonObject) -> JsonObject:
    """A question without what only the record needs."""
    return {key: item.get(key) for key in (
        "id", "kind", "status", "summary", "asked", "expires", "again", "reasons", "answer")}


def _one(found: list[JsonObject], id: str) -> JsonObject:
    for item in found:
        if item["id"] == id:
            return item
    raise SetupError(f"nothing is or was asked as {id}; `oneshot approvals --all` lists what was")


def _detail(place: Place, run: RunId, item: JsonObject, as_json: bool) -> None:
    if as_json:
        document({"schema": "oneshot/approval@1", "run": run, **brief(item),
                  "action": item.get("action"), "difference": difference_of(place, run, item)})
        return
    for text in told(place, run, item):
        line(text)


def told(place: Place, run: RunId, item: JsonObject) -> Iterator[str]:
    """Everything that a person needs to answer: what, why, and how it is undone."""
    yield f"{item['id']} ({item['kind']}, {item['status']}): {one_line(str(item['summary']))}"
    if item.get("again"):
        yield f"asked again: {item['again']}"
    yield from details(item, contract_document(place.tables, run))
    if item.get("expires"):
        yield f"can be answered until {item['expires']}"
    yield f"to undo it: {_undo(entries(item.get('action')))}"
    lines = difference_of(place, run, item).splitlines()
    if len(lines) > _SHOWN:
        yield (f"the difference has {len(lines)} lines, of which {_SHOWN} are shown; all of it: "
               f"oneshot approvals {item['id']} --json")
    for text in lines[:_SHOWN]:
        yield from barred(text)


def difference_of(place: Place, run: RunId, item: JsonObject) -> str:
    """What the action would change, as Git shows it; empty where that can't be told."""
    kept, before = str(item.get("kept") or ""), str(entries(item.get("binding")).get("tree") or "")
    fixed = place.queries.launch(run)
    repo = House(place, fixed).bare()
    if item["kind"] == "criterion":  # it is about the Git commit
        kept, before = branch_head(place.queries.head(run).state), fixed.base
    elif not kept or not before or repo.ref(kept) is None:
        return ""
    return repo.git("diff-tree", "-p", "--stat", "--no-color", "--no-ext-diff", "--no-textconv",
                    before, kept).decode("utf-8", "replace")


def _undo(action: JsonObject) -> str:
    match action.get("kind"):
        case "edit" | "commit":
            return "`oneshot rollback --to STEP` brings state and worktree back"
        case "run":
            return "the worktree by `oneshot rollback`; what it does elsewhere can't be undone here"
        case "push" | "pull_request" | "comment":
            return "by hand, on the forge; a push overwrites nothing there"
        case "finish":
            return "`oneshot fork --from STEP` goes on from an earlier step"
        case _:
            return "`oneshot say` takes an answer back, `oneshot intent amend` a change"
