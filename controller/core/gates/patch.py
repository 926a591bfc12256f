"""Building gate 3: the patch laid over the head. Only the model's fields, only a valid state."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from controller.core.canonical import JsonObject, entries
from controller.core.errors import Refused
from controller.core.eviction import dropped, laid, size
from controller.core.faults import faults_by, validator
from controller.core.head import Head
from controller.core.pointer import nearest, pointer
from controller.core.records import Candidate, Transition
from controller.core.rules import MODEL, USER, Rules, definitions, inlined, properties
from controller.core.verdict import Objection, judged

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def patch(transition: Transition, head: Head, tree: str, rules: Rules) -> Candidate:
    """The candidate with the state that would follow. Raises Refused with every fault.

    The merged state is validated, not the patch: a patch may be good by itself and still leave
    an item without its text. What the patch does not touch was valid already.
    """
    objections = _ownership(transition.patch, rules)
    if objections:
        raise Refused((judged("patch", objections),))
    schema = rules.state_schema
    objections = list(dropped(head.state, transition.patch, schema, "/state_patch"))
    after = laid(head.state, transition.patch, entries(head.marks.get("ages")), rules)
    objections += [fault for name in after.patch for fault in _field(
        name, after.patch, after.state, rules)]
    objections += _size(after.state, rules)
    if objections:
        raise Refused((judged("patch", objections),))
    return Candidate(head, transition, after.state, tree, after.patch, after.evicted)


def _field(name: str, patch: JsonObject, state: JsonObject, rules: Rules) -> list[Objection]:
    """The faults of one patched field. In a map of entries, only patched ones are looked at."""
    path = pointer("state_patch", name)
    if name not in state:
        return []  # a list that was deleted by name
    judges, value = _validators(rules)[name], state[name]
    if not isinstance(value, dict) or judges.entries is None:
        return faults_by(judges.whole, value, path)
    touched = {key: value[key] for key in entries(patch[name]) if key in value}
    return [*faults_by(judges.whole, value, path), *faults_by(judges.entries, touched, path)]


@dataclass(frozen=True, slots=True)
class _Judges:
    """Of a map of entries: what judges its size, and what judges entries. Else: of it whole."""

    whole: "Validator"
    entries: "Validator | None"


@lru_cache(maxsize=8)
def _validators(rules: Rules) -> dict[str, _Judges]:
    named = definitions(rules.state_schema)
    return {name: _judges(entries(inlined(prop, named)))
            for name, prop in properties(rules.state_schema).items()}


def _judges(schema: JsonObject) -> _Judges:
    if schema.get("type") != "object" or "properties" in schema:
        return _Judges(validator(schema), None)
    sizes = ("minProperties", "maxProperties")
    whole: JsonObject = {key: value for key, value in schema.items() if key in sizes}
    rest: JsonObject = {key: value for key, value in schema.items() if key not in sizes}
    return _Judges(validator(whole), validator(rest))


def _ownership(patch: JsonObject, rules: Rules) -> list[Objection]:
    owners = rules.owners
    mine = [name for name, owner in owners.items() if owner == MODEL]
    lists = {name for name, schema in properties(rules.state_schema).items()
             if schema.get("type") == "array"}
    return [_foreign(key, owners.get(key), mine) for key in patch
            if owners.get(key) != MODEL or not (isinstance(patch[key], dict) or (
                key in lists and (patch[key] is None or isinstance(patch[key], list))))]


def _foreign(key: str, owner: str | None, mine: list[str]) -> Objection:
    if owner is None:
        return Objection(pointer("state_patch", key), f"unknown key{nearest(key, mine)}")
    if owner != MODEL:
        how = "; to ask for a change: the action change_request" * (owner == USER)
        return Objection(pointer("state_patch", key),
                         f"belongs to the {owner}; leave it out of the patch{how}")
    return Objection(pointer("state_patch", key), "expected an object of entries; to delete "
                     "entries, name each of them: {\"its id\": null}")


def _size(state: JsonObject, rules: Rules) -> list[Objection]:
    found = size(state, rules)
    if found <= rules.max_state_bytes:
        return []
    return [Objection("/state_patch", f"your part of the state would be {found} bytes, at most "
                      f"{rules.max_state_bytes} fit; delete entries that no longer matter")]
