"""What is wrong with a JSON value, by a JSON Schema (draft-07), as sentences with their places."""

from typing import TYPE_CHECKING, Any

from controller.core.canonical import JsonObject, JsonValue, canonical
from controller.core.pointer import nearest, pointer
from controller.core.verdict import Objection

_MISSING = "missing; add it"

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def faults(value: JsonValue, schema: JsonObject, path: str = "") -> list[Objection]:
    """Every way in which `value` misses a JSON Schema, with a JSON Pointer below `path`."""
    return faults_by(validator(schema), value, path)


def faults_by(judge: "Validator", value: JsonValue, path: str = "") -> list[Objection]:
    """As `faults`, by a validator that was made before."""
    found = sorted(judge.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    return _folded([fault for error in found for fault in _objections(error, path)])


def _folded(found: list[Objection]) -> list[Objection]:
    """A key that is misspelt is not missing as well."""
    guessed = {fault.path.rpartition("/")[0] + pointer(fault.message.split("'")[1])
               for fault in found if "did you mean '" in fault.message}
    return [fault for fault in found
            if not (fault.message == _MISSING and fault.path in guessed)]


def validator(schema: JsonObject) -> "Validator":
    """What judges values by a JSON Schema (draft-07)."""
    from jsonschema import Draft7Validator

    return Draft7Validator(schema)


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
        return [Objection(where + pointer(key), _MISSING) for key in missing]
    meant = _meant(error)
    if meant:
        return [fault for below in meant for fault in _objections(below, path)]
    unknown = _unknown(error)
    if unknown:
        return [Objection(where + pointer(key), f"unknown key{guess}") for key, guess in unknown]
    return [Objection(where, _sentence(error))]


def _meant(error: Any) -> list[Any]:
    """The faults of the one branch of a oneOf that was clearly meant; none when none was."""
    if not error.context:
        return []
    if not isinstance(error.instance, dict):
        return _of_its_type(error)
    branches = [branch if isinstance(branch, dict) else {} for branch in error.validator_value]
    shared = [len(set(branch.get("properties", {})) & set(error.instance)) for branch in branches]
    best = max(range(len(branches)), key=shared.__getitem__)
    objects = [i for i, branch in enumerate(branches) if branch.get("type") == "object"]
    if not shared[best] and len(objects) != 1:
        return []
    return [below for below in error.context
            if below.schema_path[0] == (best if shared[best] else objects[0])]


def _unknown(error: Any) -> list[tuple[str, str]]:
    """The keys of an object that none of the branches of a oneOf knows, with what is near."""
    if error.validator != "oneOf" or not isinstance(error.instance, dict):
        return []
    known = [key for branch in error.validator_value for key in (
        branch.get("properties", {}) if isinstance(branch, dict) else {})]
    if not known or set(known) & set(error.instance):
        return []
    return [(key, nearest(key, dict.fromkeys(known))) for key in error.instance]


def _of_its_type(error: Any) -> list[Any]:
    """The faults of the one branch that is for values of this type."""
    kinds = {str: "string", int: "integer", float: "number", list: "array", bool: "boolean"}
    mine = [index for index, branch in enumerate(error.validator_value)
            if branch.get("type") == kinds.get(type(error.instance))]
    return [below for below in error.context
            if len(mine) == 1 and below.schema_path[0] == mine[0]]


def _sentence(error: Any) -> str:  # noqa: C901, PLR0911  (one return a keyword)
    got, limit = error.instance, error.validator_value
    match error.validator:
        case "type":
            wanted = " or ".join(limit) if isinstance(limit, list) else limit
            return f"expected {wanted}, got {shown(got)}"
        case "enum" | "const":
            choices = limit if isinstance(limit, list) else [limit]
            guess = nearest(str(got), [choice for choice in choices if isinstance(choice, str)])
            near = guess if "did you mean" in guess else ""
            wanted = ", ".join(map(shown, choices))
            return f"expected one of {wanted}; got {shown(got)}{near}"
        case "maxLength":
            return f"expected at most {limit} characters, got {len(got)}; shorten it"
        case "maxProperties" | "maxItems":
            return f"expected at most {limit} entries, got {len(got)}; delete some"
        case "minLength" | "minItems" | "minProperties":
            return f"expected at least {limit}, got {len(got)}"
        case "minimum" | "maximum" | "exclusiveMinimum" as bound:
            words = {"minimum": "at least", "maximum": "at most"}.get(bound, "more than")
            return f"expected {words} {limit}, got {shown(got)}"
        case "pattern" if error.schema.get("examples"):
            return f"expected something like {error.schema['examples'][0]}, got {shown(got)}"
        case "pattern":
            return f"expected a name that matches {limit}, got {shown(got)}"
        case "oneOf" | "anyOf":
            return _one_of(limit, got)
        case _:
            return str(error.message)[:300]


def _one_of(branches: list[JsonObject], got: JsonValue) -> str:
    """What a choice between keys, or between types, was to be."""
    needed = [str(key) for branch in branches for key in _keys(branch)]
    if not needed or not isinstance(got, dict):
        kinds = dict.fromkeys(str(branch.get("type")) for branch in branches)
        return f"expected {' or '.join(kinds)}, got {shown(got)}"
    given = [key for key in needed if key in got]
    said = f"got {', '.join(given)}" if given else f"got {shown(got)}"
    return f"expected exactly one of {', '.join(dict.fromkeys(needed))}; {said}"


def _keys(branch: JsonObject) -> list[JsonValue]:
    required, inner = branch.get("required"), branch.get("oneOf")
    if isinstance(required, list):
        return required
    return [key for below in (inner if isinstance(inner, list) else [])
            if isinstance(below, dict) for key in _keys(below)]


def shown(value: JsonValue) -> str:
    """A value in at most 60 characters."""
    text = canonical(value).decode()
    return text if len(text) <= 60 else text[:59] + "…"
