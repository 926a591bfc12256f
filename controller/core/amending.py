"""What somebody wants the contract to say, judged before anybody is asked: by the same schema."""

import json
import re
from datetime import UTC, datetime
from typing import cast

import contracts
from controller.core.action import ChangeRequest
from controller.core.canonical import JsonObject, JsonValue, entries, members
from controller.core.contract_check import doubts as doubts_of
from controller.core.faults import faults
from controller.core.governed import (
    CRITERIA,
    NAMES,
    Change,
    NoSuchChange,
    changed,
    find,
    items,
    written,
)
from controller.core.pointer import nearest
from controller.core.strict_json import NotJson, read_object
from controller.core.verdict import Objection

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""When a change was made that is only tried."""

_BROKEN = re.compile("[\ud800-\udfff\0]|\\\\u0000")

FIELDS = (*NAMES, CRITERIA)


def value_of(text: str | None) -> JsonValue:
    """What a text says an item is: a JSON object when it begins like one, else itself.

    Raises NoSuchChange for a broken object.
    """
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return read_object(text)
    except NotJson as fault:
        raise NoSuchChange(f"the value begins like a JSON object and is none: {fault}") from None


def check(document: JsonObject, change: Change) -> JsonObject:
    """The contract's next version. Raises NoSuchChange with every reason why there is none: all of
    it must be a contract that somebody could have written.
    """
    id = target(document, change)[1]
    if _BROKEN.search(json.dumps(change.value, ensure_ascii=False)):
        raise NoSuchChange("expected whole characters and no NUL")
    if change.op != "retire" and not isinstance(change.value, str | dict):
        raise NoSuchChange("expected a text, or an object with what is typed")
    new = changed(document, change)
    known = {item["id"] for _, item in items(document)}
    mine = id if change.op == "amend" else next(
        (str(item["id"]) for _, item in items(new) if item["id"] not in known), "")
    raw = _as_written(new, mine, change.value)
    schema = cast("JsonObject", contracts.schema("intent-contract"))  # JSON, as it was parsed
    found = faults(raw, schema) or list(doubts_of(raw))
    if found:
        raise NoSuchChange("; ".join(map(str, found)))
    return new


def _as_written(document: JsonObject, mine: str, value: JsonValue) -> JsonObject:
    """A governed document as a person would have written it, with what is new word for word."""
    def raw(item: JsonObject) -> JsonValue:
        own = written(item)
        if item["id"] == mine and not isinstance(value, str):
            return value
        return own.get("text", "") if set(own) <= {"text"} else own

    made: JsonObject = {"goal": raw(entries(document["goal"])), CRITERIA: {
        id: raw(entries(item)) for id, item in entries(document[CRITERIA]).items()}}
    lists = {field: list[JsonValue](map(raw, map(entries, members(document[field]))))
             for field in NAMES}
    return {**made, **lists}


def target(document: JsonObject, change: Change) -> tuple[str, str]:
    """The field and the id that a change is about. Raises NoSuchChange."""
    if change.op != "add":
        return find(document, change.target)[0], change.target
    field, _, id = change.target.partition("/")
    if field not in FIELDS:
        raise NoSuchChange(f"the contract has no field {field!r}{nearest(field, FIELDS)}")
    if bool(id) != (field == CRITERIA):
        raise NoSuchChange(f"expected {CRITERIA}/ID for a criterion and a field alone for the rest,"
                           f" got {change.target!r}")
    return field, id


def doubts(action: ChangeRequest, contract: JsonObject) -> list[Objection]:
    """What is wrong with a change request: nobody is to be asked about what can't be made so.
    `contract` is the governed document; of one that is not governed nothing can be changed.
    """
    try:
        value = value_of(action.value)
    except NoSuchChange as fault:
        return [Objection("/action/value", str(fault))]
    if (value is None) != (action.change == "retire"):
        need = "to retire something takes no value" if value is not None else "missing; add it"
        return [Objection("/action/value", need)]
    change = Change(action.change, action.item, value, "", NEVER)
    try:
        if "last" in contract:
            check(contract, change)
    except NoSuchChange as fault:
        return [Objection("/action", str(fault))]
    return []
