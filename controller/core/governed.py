"""The contract as a document: every item governed, every change a new version, nothing overwritten.

People write plain strings; `governed` makes each an item with an id, its source, an owner and the
rules by which it may change. `changed` makes the next version from one change.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from controller.core.canonical import JsonObject, JsonValue, canonical, entries, members
from controller.core.pointer import nearest, pointer

NAMES = {
    "locked_requirements": "requirement", "constraints": "constraint", "non_goals": "non-goal",
    "approval_boundaries": "boundary", "must_remember": "remember", "priority_order": "priority",
}
"""Field of the contract -> how the ids of its items begin."""

CRITERIA = "success_criteria"

_DEFAULTS: JsonObject = {"owner": "user", "retention": "always", "freshness": None,
                         "change_policy": "ask", "supersedes": ""}
_GOVERNANCE = (*_DEFAULTS, "source", "since", "at", "id")


class NoSuchChange(ValueError):
    """The change can't be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a contract: `add` to a field, `amend` or `retire` an item by its id.

    `value` is as a person writes it: an object with typed parts, or a text: of an item that is
    there only its words, so that what is typed can't be dropped unsaid. `source`: who said it when.
    """

    op: str
    target: str  # a field for add (and an id, of a criterion), else the id of an item
    value: JsonValue
    source: str
    at: datetime


def governed(document: JsonObject, source: Callable[[str], str]) -> JsonObject:
    """Version 1 of a contract that was read and checked. `source` of a JSON Pointer says where it
    stands.
    """
    def item(value: JsonValue, path: str, id: str) -> JsonObject:
        return _item(value, id, source(path), 1, None)

    made: JsonObject = {"version": 1, "last": {},
                        "goal": item(str(document["goal"]).strip(), "/goal", "goal")}
    made[CRITERIA] = {id: item(value, pointer(CRITERIA, id), id)
                      for id, value in entries(document[CRITERIA]).items()}
    for field, name in NAMES.items():
        values = members(document.get(field))
        made[field] = [item(value, pointer(field, index), f"{name}-{index + 1}")
                       for index, value in enumerate(values)]
        entries(made["last"])[field] = len(values)
    return made


def dated(document: JsonObject, at: datetime) -> JsonObject:
    """Version 1 of a contract as a run that starts now has it: said now."""
    def item(value: JsonValue) -> JsonObject:
        return {**entries(value), "at": at.isoformat()}

    criteria = entries(document[CRITERIA]).items()
    lists: JsonObject = {field: list[JsonValue](map(item, members(document[field])))
                         for field in NAMES}
    return {**document, **lists, "goal": item(document["goal"]),
            CRITERIA: {id: item(value) for id, value in criteria}}


def changed(document: JsonObject, change: Change) -> JsonObject:
    """The next version. Raises NoSuchChange for what can't be changed so."""
    version = _number(document["version"]) + 1
    if change.op == "add":
        return {**_added(document, change, version), "version": version}
    field, old = find(document, change.target)
    if entries(old)["change_policy"] == "fixed":
        raise NoSuchChange(f"{change.target} is fixed for the whole run (change_policy); end the "
                           "run, or fork it under another contract")
    if change.op == "retire":
        return {**_replaced(document, field, change.target, None), "version": version}
    value = change.value
    if isinstance(value, str):  # other words for the same: what is typed stays
        value = {**written(old), "text": value}
    new = _item(value, change.target, change.source, version, change.at)
    kept = {key: value for key, value in old.items() if key in _DEFAULTS}
    told = entries(change.value)
    merged: JsonObject = {**new, **{key: value for key, value in kept.items() if key not in told},
                          "supersedes": f"{change.target}@{old['since']}"}
    return {**_replaced(document, field, change.target, merged), "version": version}


def items(document: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """(field, item) of everything in a governed document."""
    yield "goal", entries(document["goal"])
    for item in entries(document[CRITERIA]).values():
        yield CRITERIA, entries(item)
    for field in NAMES:
        for item in members(document[field]):
            yield field, entries(item)


def find(document: JsonObject, id: str) -> tuple[str, JsonObject]:
    """The field and the item of an id. Raises NoSuchChange with a guess."""
    known = {str(item["id"]): (field, item) for field, item in items(document)}
    if id not in known:
        raise NoSuchChange(f"the contract has no item {id!r}{nearest(id, known)}")
    return known[id]


def differences(old: JsonObject, new: JsonObject) -> tuple[str, ...]:
    """What the user has changed between two versions, a line each."""
    before = {str(item["id"]): item for _, item in items(old)}
    after = {str(item["id"]): item for _, item in items(new)}
    found = [f"- {id}: {said(before[id])}" for id in before if id not in after]
    for id, item in after.items():
        if id not in before:
            found.append(f"+ {id}: {said(item)}")
        elif said(before[id]) != said(item) or before[id]["since"] != item["since"]:
            found += [f"- {id}: {said(before[id])}", f"+ {id}: {said(item)}"]
    return tuple(found)


def said(item: JsonObject) -> str:
    """What an item says, in one line: its text, and what of it is typed."""
    typed = written(item)
    text = typed.pop("text", "")
    rest = canonical(typed).decode() if typed else ""
    return " ".join(filter(None, (str(text), rest)))


def written(item: JsonObject) -> JsonObject:
    """The item as a person writes it, without what governs it."""
    return {key: value for key, value in item.items() if key not in _GOVERNANCE}


def _item(value: JsonValue, id: str, source: str, since: int, at: datetime | None) -> JsonObject:
    own = {"text": value} if isinstance(value, str) else entries(value)
    freshness = own.get("freshness")
    made: JsonObject = {**_DEFAULTS, "source": source, **own, "id": id, "since": since,
                        "at": at.isoformat() if at else None}
    return {**made, "freshness": seconds(freshness) if isinstance(freshness, str) else freshness}


def seconds(duration: str) -> int:
    """The seconds of a duration such as 90s, 30m, 12h or 7d.

    >>> seconds("12h")
    43200
    """
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]


def _added(document: JsonObject, change: Change, version: int) -> JsonObject:
    field, _, id = change.target.partition("/")
    if field == CRITERIA:
        known = entries(document[CRITERIA])
        if id in known:
            raise NoSuchChange(f"there is a criterion {id} already; `oneshot intent amend {id}`")
        new = _item(change.value, id, change.source, version, change.at)
        return {**document, CRITERIA: {**known, id: new}}
    if field not in NAMES:
        raise NoSuchChange(f"the contract has no field {field!r}{nearest(field, NAMES)}")
    last = _number(entries(document["last"])[field]) + 1
    new = _item(change.value, f"{NAMES[field]}-{last}", change.source, version, change.at)
    return {**document, field: [*members(document[field]), new],
            "last": {**entries(document["last"]), field: last}}


def _replaced(document: JsonObject, field: str, id: str, item: JsonObject | None) -> JsonObject:
    if field == "goal":
        if item is None:
            raise NoSuchChange("a run without a goal is none; amend it, or `oneshot abort`")
        return {**document, "goal": item}
    if field == CRITERIA:
        rest = {key: value for key, value in entries(document[CRITERIA]).items()
                if key != id or item is not None}
        if not rest:
            raise NoSuchChange(f"{id} is the only criterion: without one nothing could be proved; "
                               "add another first")
        return {**document, CRITERIA: {**rest, id: item} if item is not None else rest}
    kept = [item if entries(old)["id"] == id else old for old in members(document[field])]
    return {**document, field: [value for value in kept if value is not None]}


def _number(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value
