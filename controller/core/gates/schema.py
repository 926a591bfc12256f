"""Building gate 2: the transition's form, as `transition.schema.json` has it."""

from functools import cache
from typing import TYPE_CHECKING, Any

from controller.core.action import parse
from controller.core.canonical import JsonObject, JsonValue, canonical
from controller.core.errors import Refused
from controller.core.pointer import nearest, pointer
from controller.core.records import Transition
from controller.core.rules import Rules, definitions, inlined, properties
from controller.core.verdict import Objection, judged

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_ACTIONS = ("read", "search", "edit", "run", "commit", "recall", "ask", "wait", "finish")
_CHANGES = ("replace", "write", "delete", "move")


def schema(document: JsonObject, rules: Rules) -> Transition:
    """The transition that an envelope holds. Raises Refused with every fault and its path."""
    named = definitions(rules.transition_schema)
    objections = [*_action(document["action"], named),
                  *_state_patch(document["state_patch"], rules)]
    if objections:
        raise Refused((judged("schema", objections),))
    action, patch, version = (document["action"], document["state_patch"],
                              document["expected_version"])
    assert isinstance(action, dict)
    assert isinstance(patch, dict)
    assert isinstance(version, int)
    return Transition(version, patch, parse(action), document)


def faults(value: JsonValue, schema: JsonObject, path: str = "") -> list[Objection]:
    """Every way in which `value` misses a JSON Schema, with a JSON Pointer below `path`."""
    found = _validator(canonical(schema)).iter_errors(value)
    return [fault for error in sorted(found, key=lambda e: list(map(str, e.absolute_path)))
            for fault in _objections(error, path)]


@cache
def _validator(schema: bytes) -> "Validator":
    import json

    from jsonschema import Draft7Validator

    return Draft7Validator(json.loads(schema))


def _objections(error: Any, path: str) -> list[Objection]:
    where = path + pointer(*error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        return [Objection(where + pointer(str(error.instance)), _sentence(error))]
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema.get("properties", {}))
        return [Objection(where + pointer(key), f"unknown key{nearest(key, known)}")
                for key in error.instance if key not in known]
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return [Objection(where + pointer(key), "missing; add it") for key in missing]
    meant = _meant(error)
    if meant:
        return [fault for below in meant for fault in _objections(below, path)]
    return [Objection(where, _sentence(error))]


def _meant(error: Any) -> list[Any]:
    """The faults of the one branch of a oneOf that was clearly meant; none when none was."""
    if not isinstance(error.instance, dict) or not error.context:
        return []
    branches = [branch if isinstance(branch, dict) else {} for branch in error.validator_value]
    shared = [len(set(branch.get("properties", {})) & set(error.instance)) for branch in branches]
    best = max(range(len(branches)), key=shared.__getitem__)
    objects = [i for i, branch in enumerate(branches) if branch.get("type") == "object"]
    if not shared[best] and len(objects) != 1:
        return []
    return [below for below in error.context
            if below.schema_path[0] == (best if shared[best] else objects[0])]


def _sentence(error: Any) -> str:  # noqa: PLR0911  (one return a keyword)
    got, limit = error.instance, error.validator_value
    match error.validator:
        case "type":
            wanted = " or ".join(limit) if isinstance(limit, list) else limit
            return f"expected {wanted}, got {_shown(got)}"
        case "enum" | "const":
            wanted = ", ".join(map(_shown, limit if isinstance(limit, list) else [limit]))
            return f"expected one of {wanted}; got {_shown(got)}"
        case "maxLength":
            return f"expected at most {limit} characters, got {len(got)}; shorten it"
        case "maxProperties" | "maxItems":
            return f"expected at most {limit} entries, got {len(got)}; delete some"
        case "minLength" | "minItems" | "minProperties":
            return f"expected at least {limit}, got {len(got)}"
        case "pattern":
            return f"expected a name that matches {limit}, got {_shown(got)}"
        case "oneOf" | "anyOf":
            return _one_of(limit, got)
        case _:
            return str(error.message)[:300]


def _one_of(branches: list[JsonObject], got: JsonValue) -> str:
    """What a choice between keys, or between types, was to be."""
    needed = [str(key) for branch in branches for key in _keys(branch)]
    if not needed:
        return f"expected {' or '.join(str(b.get('type')) for b in branches)}, got {_shown(got)}"
    given = [key for key in needed if isinstance(got, dict) and key in got]
    said = f"got {', '.join(given)}" if given else f"got {_shown(got)}"
    return f"expected exactly one of {', '.join(dict.fromkeys(needed))}; {said}"


def _keys(branch: JsonObject) -> list[JsonValue]:
    required, inner = branch.get("required"), branch.get("oneOf")
    if isinstance(required, list):
        return required
    return [key for below in (inner if isinstance(inner, list) else [])
            if isinstance(below, dict) for key in _keys(below)]


def _shown(value: JsonValue) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 60 else text[:59] + "…"


def _action(action: JsonValue, named: dict[str, JsonObject]) -> list[Objection]:
    """Judge the action by the schema of its own kind, so that a fault is named where it is."""
    kind = action.get("kind") if isinstance(action, dict) else None
    if not isinstance(action, dict) or not isinstance(kind, str) or kind not in _ACTIONS:
        if not isinstance(action, dict):
            return [Objection("/action", f"expected an object, got {_shown(action)}")]
        return [Objection("/action/kind", f"expected a kind of action, got {_shown(kind)}"
                          + nearest(str(kind), _ACTIONS))]
    if kind == "edit":
        return _edit(action, named)
    return faults(action, _whole(named[kind], named), "/action")


def _edit(action: JsonObject, named: dict[str, JsonObject]) -> list[Objection]:
    """As `_action`, one level down: each change by the schema of its own op."""
    outer = _whole(named["edit"], named)
    inner = dict(properties(outer))
    inner["changes"] = {**inner["changes"], "items": {}}
    objections = faults(action, {**outer, "properties": dict(inner)}, "/action")
    changes = action.get("changes")
    for index, change in enumerate(changes if isinstance(changes, list) else []):
        path = pointer("action", "changes", index)
        operation = change.get("op") if isinstance(change, dict) else None
        if not isinstance(operation, str) or operation not in _CHANGES:
            objections.append(Objection(path + "/op", f"expected an op, got {_shown(operation)}"
                                        + nearest(str(operation), _CHANGES)))
            continue
        objections += faults(change, _whole(named[operation], named), path)
    return objections


def _state_patch(patch: JsonValue, rules: Rules) -> list[Objection]:
    if isinstance(patch, dict):
        return []  # Its content is judged by the patch gate, on the merged state.
    return [Objection("/state_patch", f"expected an object, got {_shown(patch)}")]


def _whole(schema: JsonObject, named: dict[str, JsonObject]) -> JsonObject:
    whole = inlined(schema, named)
    assert isinstance(whole, dict)
    return whole
