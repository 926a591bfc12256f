"""Room in the state: what a patch adds to lists, and which old entries make way for new ones.

`x-merge: append` lets a patch add to a list; `x-evict: oldest` moves the oldest entries of a field
out when it is over its `maxProperties`, `maxItems` or `x-max-bytes`, or the state over its own.
What goes is named, kept in the artifact store, and found by `recall`. Pure and deterministic.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.core.canonical import JsonObject, JsonValue, canonical, entries, members
from controller.core.merge import merge
from controller.core.pointer import pointer
from controller.core.rules import MODEL, Rules, properties
from controller.core.verdict import Objection


@dataclass(frozen=True, slots=True)
class Laid:
    """A patch laid over a state: what it comes to as a plain merge patch, the state that follows,
    and what had to make way, by field.
    """

    patch: JsonObject
    state: JsonObject
    evicted: JsonObject = field(default_factory=dict)


def laid(state: JsonObject, patch: JsonObject, ages: JsonObject, rules: Rules) -> Laid:
    """`patch` over `state`. `ages` says of each entry in which version it was set last."""
    schemas = properties(rules.state_schema)
    plain = {name: _appended(schemas[name], state.get(name), value)
             for name, value in patch.items()}
    found = Laid(plain, merge(state, plain))
    for name in plain:
        if "x-evict" in schemas[name]:
            found = _fitted(found, name, schemas[name], entries(ages.get(name)))
    return _all_fitted(found, ages, rules)


def dropped(state: JsonValue, patch: JsonObject, schema: JsonObject,
            path: str) -> Iterator[Objection]:
    """What a patch would drop without naming it: entries of a list that it replaces."""
    for key, value in patch.items():
        below = properties(schema).get(key) or entries(schema.get("additionalProperties"))
        at, old = path + pointer(key), entries(state).get(key)
        if isinstance(value, dict):
            yield from dropped(old, value, below, at)
        elif isinstance(value, list) and below.get("x-merge") == "append":
            continue
        elif isinstance(value, list):
            lost = [item for item in members(old) if item not in value]
            if lost:
                yield Objection(at, f"would drop {len(lost)} entries that are there; send the list "
                                "with them, or delete the whole of it by null first")
        elif value is not None and isinstance(old, dict | list) and old:
            yield Objection(at, f"would drop {len(old)} entries that are there; name each one "
                            "({\"its key\": null}), or delete the whole of it by null first")


def size(state: JsonObject, rules: Rules) -> int:
    """The bytes of the model's own fields together."""
    return len(canonical({name: state[name] for name, owner in rules.owners.items()
                          if owner == MODEL and name in state}))


def aged(ages: JsonObject, laid: JsonObject, state: JsonObject, version: int,
         rules: Rules) -> JsonObject:
    """`ages` after a patch was committed as `version`, for the fields that are evicted from."""
    found: JsonObject = {}
    for name, schema in properties(rules.state_schema).items():
        if schema.get("x-evict") and schema.get("type") == "object":
            known, touched = entries(ages.get(name)), entries(laid.get(name))
            found[name] = {id: version if id in touched else known.get(id, 0)
                           for id in entries(state.get(name))}
    return found


def _appended(schema: JsonObject, old: JsonValue, value: JsonValue) -> JsonValue:
    """The whole list that a patch of an append-only one comes to; what is there is not repeated."""
    if schema.get("x-merge") != "append" or not isinstance(value, list):
        return value
    return [*members(old), *(item for item in value if item not in members(old))]


def _fitted(found: Laid, name: str, schema: JsonObject, ages: Mapping[str, JsonValue]) -> Laid:
    """One field within its own bounds, as far as entries that the patch left alone can make way."""
    while not _fits(found.state.get(name), schema):
        after = _without_oldest(found, name, ages)
        if after is None:
            return found
        found = after
    return found


def _fits(value: JsonValue, schema: JsonObject) -> bool:
    most = schema.get("maxProperties", schema.get("maxItems"))
    quota = schema.get("x-max-bytes")
    many = isinstance(value, dict | list) and isinstance(most, int) and len(value) > most
    return not many and not (isinstance(quota, int) and len(canonical(value)) > quota)


def _all_fitted(found: Laid, ages: JsonObject, rules: Rules) -> Laid:
    """All fields together within the state's own bound: the oldest entry of all goes first."""
    evicting = [name for name, schema in properties(rules.state_schema).items()
                if schema.get("x-evict") and schema.get("type") == "object"]
    while size(found.state, rules) > rules.max_state_bytes:
        oldest = [(age, name) for name in evicting
                  if (age := _oldest(found, name, entries(ages.get(name)))) is not None]
        if not oldest:
            return found
        name = min(oldest)[1]
        after = _without_oldest(found, name, entries(ages.get(name)))
        if after is None:
            return found
        found = after
    return found


def _oldest(found: Laid, name: str, ages: Mapping[str, JsonValue]) -> tuple[int, str] | None:
    """Age and id of the entry that goes first: never one that the patch has just set."""
    touched = entries(found.patch.get(name))
    left = [(_number(ages.get(id)), id) for id in entries(found.state.get(name))
            if touched.get(id) is None]
    return min(left, default=None)


def _without_oldest(found: Laid, name: str, ages: Mapping[str, JsonValue]) -> Laid | None:
    value = found.state.get(name)
    if isinstance(value, list):
        kept: JsonObject = {name: value[1:]}
        gone: JsonValue = [*members(found.evicted.get(name)), *value[:1]]
        return Laid({**found.patch, **kept}, {**found.state, **kept},
                    {**found.evicted, name: gone}) if value else None
    oldest = _oldest(found, name, ages)
    if oldest is None:
        return None
    id, held = oldest[1], entries(value)
    return Laid({**found.patch, name: {**entries(found.patch.get(name)), id: None}},
                merge(found.state, {name: {id: None}}),
                {**found.evicted, name: {**entries(found.evicted.get(name)), id: held[id]}})


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
