"""What somebody wants the contract to say, judged before anybody is asked: by the same schema."""

import json
import re
from typing import cast

import contracts
from controller.core.action import ChangeRequest
from controller.core.canonical import JsonObject, JsonValue
from controller.core.faults import faults
from controller.core.governed import CRITERIA, NAMES, Change, NoSuchChange, changed, find
from controller.core.pointer import nearest, pointer
from controller.core.strict_json import NotJson, read_object
from controller.core.verdict import Objection

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


def misfits(field: str, id: str, value: JsonValue) -> list[Objection]:
    """Every way in which a value is no item of a field of the contract."""
    schema = cast("JsonObject", contracts.schema("intent-contract"))  # JSON, as it was parsed
    criterion: JsonObject = {"check": {"file": "x"}}
    document: JsonObject = {"goal": "x", CRITERIA: {"x": criterion}}
    if field == "goal":
        document["goal"] = value
    elif field == CRITERIA:
        document[CRITERIA] = {id: value}
    else:
        document[field] = [value]
    start = "/goal" if field == "goal" else pointer(field, id if field == CRITERIA else 0)
    return [Objection(fault.path.removeprefix(start), fault.message)
            for fault in faults(document, schema)]


def check(document: JsonObject, change: Change) -> JsonObject:
    """The contract's next version. Raises NoSuchChange with every reason why there is none."""
    field, id = target(document, change)
    if change.op != "retire":
        found = misfits(field, id, change.value)
        if _BROKEN.search(json.dumps(change.value, ensure_ascii=False)):
            found.append(Objection("", "expected whole characters and no NUL"))
        if found:
            raise NoSuchChange("; ".join(map(str, found)))
    return changed(document, change)


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


def doubts(action: ChangeRequest) -> list[Objection]:
    """What is wrong with a change request, whatever the contract says now."""
    try:
        value = value_of(action.value)
    except NoSuchChange as fault:
        return [Objection("/action/value", str(fault))]
    if (value is None) != (action.change == "retire"):
        need = "to retire something takes no value" if value is not None else "missing; add it"
        return [Objection("/action/value", need)]
    return []
