"""The points of a run: what its state and worktree were after each step, from the audit trail."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from controller.core.canonical import JsonObject, JsonValue, digest_bytes, entries, members
from controller.core.changes import changes, leaves, value_at
from controller.core.errors import Damaged, SetupError, StateError
from controller.core.facts import Snapshot
from controller.core.head import RunId
from controller.core.pointer import split
from controller.core.projection import tree_of
from controller.store.queries import Queries
from controller.store.rows import int_in

POINTS = ("created", "committed", "migrated")
"""The kinds of audit records that a state was committed with."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a run stood after a step. `record` is the audit record that says so."""

    step: int
    version: int
    state: JsonObject
    snapshot: Snapshot
    observation: str
    heard: int
    record: JsonObject

    @property
    def git_commit(self) -> str:
        """The run's Git commit then."""
        return str(entries(self.state["source_authority"])["head"])


def points(queries: Queries, run: RunId) -> Iterator[Point]:
    """Every point of a run, oldest first. Raises StateError where its state is lost."""
    for record in queries.audit(run):
        if record["kind"] in POINTS:
            yield _point(queries, record)


def last_point(queries: Queries, run: RunId) -> Point:
    """The newest point of a run: what its head was before anything that is open now."""
    records = [record for record in queries.audit(run) if record["kind"] in POINTS]
    return _point(queries, records[-1])


def point_at(queries: Queries, run: RunId, step: int) -> Point:
    """The point after a step; of one that committed nothing, the point before it.

    Raises SetupError for a step that the run has not taken.
    """
    found, last = None, 0
    for record in _readable(queries, run):  # and not the head: it may be damaged
        number = int_in(record.get("step", 0))
        last = max(last, number)
        own = record["kind"] == "migrated" or (  # between two steps
            record["kind"] == "committed" and not record["call"])
        if record["kind"] in POINTS and number <= step and not own:
            found = record
    if found is None or step > last:
        raise SetupError(f"run {run} has no step {step}; it has steps 0 (its start) to {last}")
    return _point(queries, found)


def _readable(queries: Queries, run: RunId) -> Iterator[JsonObject]:
    """The records of a run up to the first that is damaged."""
    with suppress(Damaged):
        yield from queries.audit(run)


@dataclass(frozen=True, slots=True)
class Blame:
    """Which step last set a path of the state, and on whose word."""

    path: str
    value: JsonValue
    step: int
    version: int
    source: str


def blame(queries: Queries, run: RunId, path: str) -> tuple[Blame, ...]:
    """Who last set each leaf at or below a path (JSON Pointer) of the run's state.

    Raises SetupError when the path is none, or leads to nothing.
    """
    try:
        keys = split(path)
        now = value_at(queries.head(run).state, keys)
    except ValueError as fault:
        raise SetupError(f"{fault}: a path of the state, such as /facts/name") from None
    except KeyError as fault:
        raise SetupError(f"{path}: the state has nothing there: no {fault}") from None
    set_by: dict[str, Point] = {}
    before: JsonObject = {}
    for point in points(queries, run):
        for change in changes(before, point.state):
            if _related(change.path, path):
                set_by.update((f"{change.path}{below}", point)
                              for below, _ in leaves(change.new))
        before = point.state
    return tuple(_blame(path + below, value, set_by.get(path + below))
                 for below, value in leaves(now))


def _blame(path: str, value: JsonValue, point: Point | None) -> Blame:
    if point is None:  # since the last point: drift, or a person's answer
        return Blame(path, value, 0, 0, "set since the last step, by an authority or a person")
    return Blame(path, value, point.step, point.version, _source(path, point.record))


def _source(path: str, record: JsonObject) -> str:
    if record["kind"] == "created":
        origin = entries(record.get("from"))
        return f"taken over from {origin['run']}" if origin else "set when the run began"
    if any(_related(change.path, path) for change in changes({}, entries(record.get("patch")))):
        return f"the model's patch (reply {str(entries(record['call'])['reply'])[:12]})"
    for item in map(entries, members(record.get("evidence"))):
        if _related(path, f"/criteria/{item['subject']}"):
            return f"{item['authority']}: {item['source']}"
    if record["kind"] == "migrated":
        return "brought to another version of the state schema"
    kind = entries(record["action"])["kind"]
    if kind == "restore":
        return f"restored from step {entries(record['action'])['step']}"
    return f"the controller, from what its {kind} action came to"


def _related(one: str, other: str) -> bool:
    """Whether one path is the other, or leads through it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _point(queries: Queries, record: JsonObject) -> Point:
    digest = str(record.get("state", ""))
    kept = queries.artifact(digest)
    if kept is None or digest_bytes(kept) != digest:
        raise StateError(f"the state of version {record['version']} is lost; `oneshot verify-audit`"
                         " says what is left")
    state: JsonObject = json.loads(kept)
    outcome = entries(record.get("outcome"))
    extras = outcome.get("extras", "")
    return Point(int_in(record.get("step", 0)), int_in(record["version"]), state,
                 Snapshot(tree_of(state), str(extras)), str(record["observation"]),
                 int_in(record.get("heard", 0)), record)
