"""`oneshot intent`: the contract of a run, and how its user changes it while it is going."""

from pathlib import Path

import click

from controller.cli.place import Place, open_place
from controller.cli.show import document as one_document
from controller.cli.show import line, table, talk
from controller.core.amending import value_of
from controller.core.canonical import JsonObject, JsonValue, digest, entries
from controller.core.errors import SetupError
from controller.core.governed import CRITERIA, NAMES, NoSuchChange, differences, find, items, said
from controller.core.head import RunId
from controller.core.pointer import nearest
from controller.settings import from_environment
from controller.store.contracts import by_user, document, version

_FIELDS = {name: field for field, name in NAMES.items()} | {"criterion": CRITERIA}
"""How a person names a kind of item -> the field of the contract that it stands in."""

_run = click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
_json = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@click.group("intent")
def command() -> None:
    """Show or change what a run is for. Each change is a new version; nothing is overwritten."""


def _open(folder: Path, name: str | None) -> tuple[Place, RunId]:
    place = open_place(folder, from_environment())
    return place, place.run(name)


@command.command("show")
@_run
@click.option("--version", "number", type=int, metavar="N", help="An older version.")
@_json
@click.pass_obj
def show(folder: Path, name: str | None, number: int | None, as_json: bool) -> None:
    """List every item: its id, what it says, where it comes from."""
    place, run = _open(folder, name)
    found = document(place.tables, run, number)
    if as_json:
        one_document({"schema": "oneshot/intent@1", "run": run, "contract": found})
        return
    line(f"version {found.get('version', 1)} of the contract of {run}")
    for _, item in items(found):
        line(f"{item['id']}: {said(item)}")
        line(f"    {_governance(item)}")


def _governance(item: JsonObject) -> str:
    about = [str(item["source"]), f"change: {item['change_policy']}"]
    about += [f"owner: {item['owner']}"] * (item["owner"] != "user")
    about += [f"good for {item['freshness']} s"] * bool(item["freshness"])
    about += [f"in place of {item['supersedes']}"] * bool(item["supersedes"])
    return ", ".join(about)


@command.command("add")
@click.argument("kind", metavar="KIND")
@click.argument("words", metavar="[ID] TEXT", nargs=-1)
@click.option("--check", metavar="LINE",
              help="For a criterion: the command that must exit with 0.")
@click.option("--limit", "limits", multiple=True, metavar="YAML",
              help="For a constraint: what is checked, such as 'forbid_paths: [docs/**]'.")
@click.option("--source", metavar="URL", help="Where you have it from, such as an issue.")
@_run
@click.pass_obj
def add(folder: Path, kind: str, words: tuple[str, ...], check: str | None,
        limits: tuple[str, ...], source: str | None, name: str | None) -> None:
    """Add an item: a requirement, constraint, non-goal, boundary, remember, priority, criterion.

    \b
      oneshot intent add constraint "CSV times are in UTC"
      oneshot intent add constraint "The manual stays" --limit 'forbid_paths: [docs/**]'
      oneshot intent add criterion utc "Times are in UTC" --check "pytest -k utc"
    """
    if kind not in _FIELDS:
        raise click.UsageError(f"no kind of item {kind!r}{nearest(kind, _FIELDS)}")
    place, run = _open(folder, name)
    field, rest = _FIELDS[kind], list(words)
    target = field
    if field == CRITERIA:
        if not rest:
            raise click.UsageError("expected the criterion's id, such as `criterion utc`")
        target = f"{field}/{rest.pop(0)}"
    value = _value(field, " ".join(rest), check, limits)
    _change(place, run, "add", target, value, f"{source}@{digest(value)[:12]}" if source else "")


@command.command("amend")
@click.argument("item")
@click.argument("text", required=False)
@click.option("--check", metavar="LINE", help="For a criterion: another command.")
@click.option("--limit", "limits", multiple=True, metavar="YAML", help="As for `add`.")
@_run
@click.pass_obj
def amend(folder: Path, item: str, text: str | None, check: str | None, limits: tuple[str, ...],
          name: str | None) -> None:
    """Let an item say something else. What it said stays in the older versions."""
    place, run = _open(folder, name)
    field, old = _find(place, run, item)
    if text is None and not check and not limits:
        raise click.UsageError(f"expected what {item} is to say; now it says: {said(old)}")
    words = text or str(old.get("text") or "")
    if field == CRITERIA and not check:
        _change(place, run, "amend", item, words)  # other words for the same check
        return
    _change(place, run, "amend", item, _value(field, words, check, limits))


@command.command("retire")
@click.argument("item")
@click.option("--reason", default="", help="Kept with the change.")
@_run
@click.pass_obj
def retire(folder: Path, item: str, reason: str, name: str | None) -> None:
    """Take an item out of the contract from the next version on."""
    place, run = _open(folder, name)
    _find(place, run, item)
    _change(place, run, "retire", item, None, reason)


@command.command("log")
@_run
@_json
@click.pass_obj
def log(folder: Path, name: str | None, as_json: bool) -> None:
    """List the versions: who made each, when, and what it changed."""
    place, run = _open(folder, name)
    found = [{key: body[key] for key in ("version", "by", "at", "op", "target", "source")}
             for body in place.tables.contracts(run)]
    if as_json:
        rows: list[JsonValue] = [dict(row) for row in found]
        one_document({"schema": "oneshot/intent-log@1", "run": run, "versions": rows})
        return
    first = place.queries.launch(run)
    table([("1", first.at.isoformat(timespec="seconds"), "", "as the run was started with"),
           *((str(row["version"]), str(row["at"]), str(row["by"]),
              f"{row['op']} {row['target']} ({row['source']})") for row in found)])


@command.command("diff")
@click.argument("old", type=int)
@click.argument("new", type=int, required=False)
@_run
@click.pass_obj
def diff(folder: Path, old: int, new: int | None, name: str | None) -> None:
    """Show what changed between two versions (to the newest, by default)."""
    place, run = _open(folder, name)
    for text in differences(document(place.tables, run, old), document(place.tables, run, new)):
        line(text)


def _find(place: Place, run: RunId, item: str) -> tuple[str, JsonObject]:
    try:
        return find(document(place.tables, run), item)
    except NoSuchChange as fault:
        raise SetupError(str(fault)) from None


def _value(field: str, text: str, check: str | None, limits: tuple[str, ...]) -> JsonValue:
    """The item as a person would have written it into the contract's file."""
    if limits and field != "constraints":
        raise click.UsageError("--limit is for constraints")
    if (check is not None) != (field == CRITERIA):
        raise click.UsageError("a criterion needs --check LINE, and nothing else takes it")
    try:
        value = value_of(text)
    except NoSuchChange as fault:
        raise SetupError(str(fault)) from None
    if not isinstance(value, str) or (field != CRITERIA and not limits):
        return value
    made: JsonObject = {"text": text} if text else {}
    for limit in limits:
        made |= _limit(limit)
    return {**made, "check": {"shell": check}} if check else made


def _limit(text: str) -> JsonObject:
    from controller.strict_yaml import parsed

    return entries(parsed(Path("--limit"), text).value)


def _change(place: Place, run: RunId, op: str, target: str, value: JsonValue,
            why: str = "") -> None:
    """`why` is where it comes from, or the reason; kept with who made the change and when."""
    now = place.clock.now()
    before = version(place.tables, run)
    number = place.desk.amend(run, by_user(
        op, target, value, place.settings.user + f" ({why})" * bool(why), now))
    for text in differences(document(place.tables, run, before), document(place.tables, run)):
        line(text)
    talk(f"version {number} of the contract of {run}; its next step begins under it")
