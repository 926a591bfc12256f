"""A cassette behind the loopback server: the same replies, told to a real client."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.core.canonical import JsonObject, JsonValue, canonical, entries
from controller.core.pointer import pointer
from controller.testing.wire import Answer, ModelRequest

_SHOWN = re.compile(r"# State at version (\d+), step (\d+)")

Encode = Callable[[JsonObject], JsonObject]
"""How a transition is written in the dialect of the client under test."""


@dataclass(frozen=True, slots=True)
class Script:
    """Answers each step with its transition, for the version that the request shows.

    An answer that brings an `expected_version` of its own keeps it.
    """

    transitions: Sequence[JsonObject]
    encode: Encode = lambda transition: transition

    def __call__(self, request: ModelRequest) -> Answer:
        version, step = shown(request.text)
        transition = {"reasoning": "", "state_patch": {}, "expected_version": version,
                      **self.transitions[step - 1]}
        return Answer(json.dumps(self.encode(transition)))


def write_cassette(place: Path, replies: Iterable[JsonObject]) -> None:
    """Write what the adapter `scripted` plays; the n-th reply gets the version n unless it brings
    one of its own.
    """
    place.write_text("".join(json.dumps({"reply": {
        "expected_version": number, "state_patch": {}, **reply}}) + "\n"
        for number, reply in enumerate(replies)))


def shown(text: str) -> tuple[int, int]:
    """The version and the step that a prompt shows."""
    found = _SHOWN.findall(text)
    assert len(found) == 1, f"expected one state in the prompt, got {len(found)}"
    return int(found[0][0]), int(found[0][1])


def to_ops(document: JsonObject) -> JsonObject:
    """A transition with its patch as the list of operations that strict schemas want."""
    patch = entries(document["state_patch"])
    operations: list[JsonValue] = []
    for path, value in _leaves(patch, ""):
        deleted = value is None
        operations.append({"op": "delete" if deleted else "set", "path": path,
                           "value_json": None if deleted else canonical(value).decode()})
    return {**document, "state_patch": operations}


def _leaves(patch: JsonObject, path: str) -> list[tuple[str, JsonValue]]:
    found: list[tuple[str, JsonValue]] = []
    for key, value in patch.items():
        at = path + pointer(key)
        found += _leaves(value, at) if isinstance(value, dict) and value else [(at, value)]
    return found
