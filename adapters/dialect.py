"""One transition schema, compiled into what a model interface can hold, and its replies decoded.

*merge*: the schema as it is, references resolved; `state_patch` is a merge patch.
*ops*: for strict OpenAI schemas, which know no free-form object and turn "absent" into null: every
key required, optional ones nullable, and `state_patch` a list of
`{"op": "set" | "delete", "path": "/a/b", "value_json": "…"}`.
The validator is the controller's in both cases, and always runs.
"""

from collections.abc import Callable

from controller.core.canonical import JsonObject, JsonValue, canonical
from controller.core.miss import Malformed, Miss
from controller.core.pointer import split
from controller.core.records import Reply, Usage
from controller.core.rules import definitions, inlined, properties
from controller.core.strict_json import NotJson, read_reply, read_value

_DROPPED = {"minLength", "maxLength", "examples", "default", "propertyNames", "maxProperties",
            "minProperties", "oneOf", "title", "$id", "$schema", "definitions"}

_DEPTH = 16  # keys that a path leads through

_OPS: JsonObject = {
    "type": "array",
    "description": "Changes to the state. A path is a JSON Pointer: /facts/some_id. value_json is "
                   "the value as JSON text, and null for delete.",
    "items": {
        "type": "object", "additionalProperties": False, "required": ["op", "path", "value_json"],
        "properties": {
            "op": {"type": "string", "enum": ["set", "delete"]},
            "path": {"type": "string"},
            "value_json": {"type": ["string", "null"]},
        },
    },
}


def merge_schema(schema: JsonObject) -> JsonObject:
    """The transition schema without references, choices as anyOf, and without words of our own:
    Claude drops a schema that has any, and says nothing.
    """
    whole = inlined(schema, definitions(schema))
    assert isinstance(whole, dict)
    found = _any_of(whole)
    assert isinstance(found, dict)
    return found


def grammar_schema(schema: JsonObject) -> JsonObject:
    """The transition schema as servers can make a grammar of it that keeps to one (llama.cpp).

    A choice between keys beside properties lets them forget the properties, a long maxLength breaks
    them, and a list of types loses what else is said of the value: left out, or written apart.
    """
    found = _plain(merge_schema(schema))
    assert isinstance(found, dict)
    return found


def _plain(schema: JsonValue) -> JsonValue:
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _below(key, value, _plain) for key, value in schema.items()
            if key not in _TOO_MUCH}
    if "properties" in kept:
        kept.pop("anyOf", None)
    kinds = kept.pop("type", None)
    if isinstance(kinds, list):
        return {"anyOf": [{**kept, "type": kind} if kind != "null" else {"type": "null"}
                          for kind in kinds]}
    return kept if kinds is None else {**kept, "type": kinds}


_TOO_MUCH = {"minLength", "maxLength", "maxItems", "minItems", "propertyNames", "pattern",
             "description", "examples", "default", "title", "maxProperties", "minProperties"}


def ops_schema(schema: JsonObject) -> JsonObject:
    """The transition schema for strict structured output."""
    whole = merge_schema(schema)
    parts = dict(properties(whole))
    parts["state_patch"] = _OPS
    strict = _strict({**whole, "properties": dict(parts), "required": list(parts)})
    assert isinstance(strict, dict)
    described = strict["properties"]
    assert isinstance(described, dict)
    described["state_patch"] = _OPS
    return strict


def answered(text: str, usage: Usage, *, ops: bool = False) -> Reply | Miss:
    """What a model wrote, as a reply: one JSON object, which the ops dialect is decoded from. What
    is none is a miss that says why, with what came.
    """
    body = text.encode("utf-8", "surrogatepass")
    try:
        document = read_reply(body)
        return Reply(_from_ops(document) if ops else body, usage)
    except NotJson as fault:
        return malformed(str(fault), usage, body)


def malformed(why: str, usage: Usage, body: bytes = b"") -> Miss:
    """A miss for an answer that came, and is not one transition."""
    words = body[:500].decode("utf-8", "replace")
    return Miss(Malformed(why), words, billed=True, usage=usage, body=body[:_KEPT])


_KEPT = 64 * 1024  # bytes of an answer that is none


def _from_ops(document: JsonObject) -> bytes:
    """A reply in the ops dialect as one in the merge dialect. Raises NotJson with the place."""
    action, operations = document.get("action"), document.get("state_patch")
    if not isinstance(operations, list):
        return canonical(document)  # the patch gate says what is wrong with it
    return canonical({**document, "state_patch": _patch(operations), "action": _present(action)})


def _patch(operations: list[JsonValue]) -> JsonObject:
    patch: JsonObject = {}
    for index, operation in enumerate(operations):
        match operation:
            case {"op": "set", "path": str(path), "value_json": str(text)}:
                _set(patch, path, _value(text, index), index)
            case {"op": "delete", "path": str(path)}:
                _set(patch, path, None, index)
            case _:
                raise NotJson(f"/state_patch/{index}: expected op, path and value_json")
    return patch


def _set(patch: JsonObject, path: str, value: JsonValue, index: int) -> None:
    try:
        keys = split(path)
    except ValueError as fault:
        raise NotJson(f"/state_patch/{index}/path: {fault}") from None
    if len(keys) > _DEPTH:
        raise NotJson(f"/state_patch/{index}/path: expected at most {_DEPTH} keys")
    if not keys:
        raise NotJson(f"/state_patch/{index}/path: expected a path below the root, got {path!r}")
    below = patch
    for key in keys[:-1]:
        found = below.setdefault(key, {})
        if not isinstance(found, dict):
            raise NotJson(f"/state_patch/{index}/path: {path} leads through a value set before")
        below = found
    below[keys[-1]] = value


def _value(text: str, index: int) -> JsonValue:
    try:
        return read_value(text)
    except NotJson as fault:
        raise NotJson(f"/state_patch/{index}/value_json: {fault}") from None


def _present(value: JsonValue) -> JsonValue:
    """A value without its null members: strict schemas say "absent" so."""
    match value:
        case dict():
            return {key: _present(below) for key, below in value.items() if below is not None}
        case list():
            return [_present(item) for item in value]
        case _:
            return value


def _any_of(schema: JsonValue) -> JsonValue:
    match schema:
        case dict():
            return {("anyOf" if key == "oneOf" else key): _below(key, value, _any_of)
                    for key, value in schema.items() if not key.startswith("x-")}
        case list():
            return [_any_of(item) for item in schema]
        case _:
            return schema


def _below(key: str, value: JsonValue, compiled: Callable[[JsonValue], JsonValue]) -> JsonValue:
    """A part of a schema, compiled; the keys of `properties` are names, whatever they look like."""
    if key == "properties" and isinstance(value, dict):
        return {name: compiled(part) for name, part in value.items()}
    return compiled(value)


def _strict(schema: JsonValue) -> JsonValue:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _below(key, value, _strict) for key, value in schema.items()
            if key not in _DROPPED}
    if "const" in kept:
        kept = {"type": "string", "enum": [kept["const"]]}
    if isinstance(schema.get("enum"), list) and "type" not in kept:
        kept["type"] = "string"
    parts = kept.get("properties")
    if isinstance(parts, dict):
        kept.pop("anyOf", None)  # a choice between keys is the schema gate's to judge
        wanted = schema.get("required")
        needed = wanted if isinstance(wanted, list) else []
        kept["properties"] = {key: part if key in needed else _nullable(part)
                              for key, part in parts.items()}
        kept |= {"required": list(parts), "additionalProperties": False}
    return kept


def _nullable(part: JsonValue) -> JsonValue:
    assert isinstance(part, dict)
    kind = part.get("type")
    if isinstance(kind, str) and "enum" not in part:
        return {**part, "type": [kind, "null"]}
    return {"anyOf": [part, {"type": "null"}]}
