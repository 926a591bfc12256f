"""Building gate 2: the transition's form, as `transition.schema.json` has it."""

from functools import lru_cache
from typing import TYPE_CHECKING

from controller.core.canonical import JsonObject, JsonValue, entries, members
from controller.core.errors import Refused
from controller.core.faults import faults_by, shown, validator
from controller.core.parse import parse
from controller.core.pointer import nearest, pointer
from controller.core.records import Transition
from controller.core.rules import Rules, definitions, inlined, offered, properties
from controller.core.verdict import Objection, judged

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_CHANGES = ("replace", "write", "delete", "move")


def schema(document: JsonObject, rules: Rules) -> Transition:
    """The transition that an envelope holds. Raises Refused with every fault and its path."""
    objections = [*_action(document["action"], _validators(rules)),
                  *_state_patch(document["state_patch"])]
    if objections:
        raise Refused((judged("schema", objections),))
    action, patch, version = (document["action"], document["state_patch"],
                              document["expected_version"])
    assert isinstance(action, dict)
    assert isinstance(patch, dict)
    assert isinstance(version, int)
    return Transition(version, patch, parse(action), document)


@lru_cache(maxsize=8)
def _validators(rules: Rules) -> "dict[str, Validator]":
    """A validator for every kind of action and of change. An edit's changes are judged apart."""
    named = definitions(rules.transition_schema)
    kinds = (*offered(rules.transition_schema), *_CHANGES)
    whole = {name: entries(inlined(named[name], named)) for name in kinds}
    parts = dict(properties(whole["edit"]))
    parts["changes"] = {**parts["changes"], "items": {}}
    whole["edit"] = {**whole["edit"], "properties": dict(parts)}
    return {name: validator(part) for name, part in whole.items()}


def _action(action: JsonValue, judges: "dict[str, Validator]") -> list[Objection]:
    """Judge the action by the schema of its own kind, so that a fault is named where it is."""
    if not isinstance(action, dict):
        return [Objection("/action", f"expected an object, got {shown(action)}")]
    kind = action.get("kind")
    kinds = [name for name in judges if name not in _CHANGES]
    if not isinstance(kind, str) or kind not in kinds:
        return [Objection("/action/kind", f"expected a kind of action, got {shown(kind)}"
                          + nearest(str(kind), kinds))]
    objections = faults_by(judges[kind], action, "/action")
    for index, change in enumerate(members(action.get("changes")) if kind == "edit" else []):
        objections += _change(change, pointer("action", "changes", index), judges)
    return objections


def _change(change: JsonValue, path: str, judges: "dict[str, Validator]") -> list[Objection]:
    """As `_action`, one level down: each change by the schema of its own op."""
    operation = entries(change).get("op")
    if not isinstance(operation, str) or operation not in _CHANGES:
        return [Objection(path + "/op", f"expected an op, got {shown(operation)}"
                          + nearest(str(operation), _CHANGES))]
    return faults_by(judges[operation], change, path)


def _state_patch(patch: JsonValue) -> list[Objection]:
    if isinstance(patch, dict):
        return []  # Its content is judged by the patch gate, on the merged state.
    return [Objection("/state_patch", f"expected an object, got {shown(patch)}")]
