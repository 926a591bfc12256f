"""State schemas grow: ordered migrations of a state from one version to the next, and back.

Pure functions. A run's state is brought to the version that ships now when it is resumed; what it
was stays in the record. A schema of the user's own has no migration here: his state fits, or he is
told where it does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.faults import faults
from controller.core.rules import properties
from controller.core.verdict import Objection

VERSION = "schema_version"
"""The controller's field of Σ, and the key `x-version` of a schema."""


@dataclass(frozen=True, slots=True)
class Migration:
    """From version `number` to the next: what becomes of a state, and how to go back."""

    number: int
    says: str
    forward: Callable[[JsonObject], JsonObject]
    back: Callable[[JsonObject], JsonObject]


def version_of(schema: JsonObject) -> int:
    """The version of a state schema; one that says none is the first."""
    found = schema.get("x-version")
    return found if isinstance(found, int) else 1


def domain_of(schema: JsonObject) -> str:
    """What a state schema is a version of: its `$id` without the version."""
    return str(schema.get("$id", "")).partition("@")[0]


def migrated(state: JsonObject, old: JsonObject, new: JsonObject) -> JsonObject:
    """A state of one schema as a state of another version of it, forward or back.

    What the new schema has and nobody has said yet is empty. It need not be valid: `unfit` says.
    """
    at, wanted = _said_by(state), version_of(new)
    steps = MIGRATIONS.get(domain_of(new), ()) if domain_of(old) == domain_of(new) else ()
    for step in steps:
        if at <= step.number < wanted:
            state = step.forward(state)
    for step in reversed(steps):
        if wanted <= step.number < at:
            state = step.back(state)
    return _completed(state, old, new)


def _said_by(state: JsonObject) -> int:
    """The version that a state was written under; the first did not say."""
    found = state.get(VERSION)
    return found if isinstance(found, int) else 1


def unfit(state: JsonObject, schema: JsonObject) -> list[Objection]:
    """Every way in which a state is none of a schema's."""
    return faults(state, schema)


def _completed(state: JsonObject, old: JsonObject, schema: JsonObject) -> JsonObject:
    """With what is new in the schema, empty; with what it knows nothing of any more, gone when it
    was the old one's.
    """
    empty: dict[str, JsonValue] = {"object": {}, "array": []}
    new = {name: empty[str(prop.get("type"))] for name, prop in properties(schema).items()
           if name not in state and name not in properties(old) and prop.get("type") in empty
           and not prop.get("required")}
    version: JsonObject = {VERSION: version_of(schema)} if VERSION in properties(schema) else {}
    return {**state, **new, **version}


def _pointers(state: JsonObject) -> JsonObject:
    """Coding 2: what showed a hypothesis is a `result` in words and a pointer as `evidence`."""
    return {**state, "hypotheses": {id: _result(entries(item)) for id, item in entries(
        state.get("hypotheses")).items()}}


def _result(item: JsonObject) -> JsonObject:
    if "evidence" not in item:
        return item
    rest = {key: value for key, value in item.items() if key != "evidence"}
    return {**rest, "result": item["evidence"], "evidence": "unknown"}


def _words(state: JsonObject) -> JsonObject:
    """Coding 1 again."""
    mine = {key: value for key, value in state.items() if key not in _NEW_IN_2}
    return {**mine, "hypotheses": {id: _evidence(entries(item)) for id, item in entries(
        state.get("hypotheses")).items()}}


def _evidence(item: JsonObject) -> JsonObject:
    said = item.get("result") or item.get("evidence")
    rest = {key: value for key, value in item.items() if key not in ("result", "evidence")}
    status = {"unknown": "open"}.get(str(item.get("status")), item.get("status"))
    return {**rest, "status": status, **({"evidence": said} if said else {})}


def _unpointed(state: JsonObject) -> JsonObject:
    """Coding 2 again: nothing of what is elsewhere, and no pointer to evidence."""
    def without(field: str, *gone: str) -> JsonObject:
        return {id: {key: value for key, value in entries(item).items() if key not in gone}
                for id, item in entries(state.get(field)).items()}

    mine = {key: value for key, value in state.items() if key not in _NEW_IN_3}
    source = {key: value for key, value in entries(state.get("source_authority")).items()
              if key in ("branch", "base", "head", "tree", "dirty")}
    return {**mine, "source_authority": source, "decisions": without("decisions", "record"),
            "criteria": without("criteria", "evidence", "check")}


_NEW_IN_3 = ("delivery", "hosted_ci", "issue", "probes")

_NEW_IN_2 = ("schema_version", "waiting", "intent", "stale", "proof", "desired", "evicted",
             "lessons")

MIGRATIONS: dict[str, tuple[Migration, ...]] = {
    "oneshot/state/coding": (Migration(
        1, "what showed a hypothesis becomes a result in words and a pointer; new fields for what "
        "waits, what is stale, the proof, what was evicted, and lessons", _pointers, _words),
        Migration(2, "criteria point to their evidence; new fields for what is delivered, what "
                  "hosted checks and probes say, and the issue", dict, _unpointed)),
}
"""Domain -> its migrations, in order."""
