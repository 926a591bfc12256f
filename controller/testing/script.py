"""A cassette behind the loopback server: the same replies, told to a real client."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller.core.canonical import JsonObject
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


def shown(text: str) -> tuple[int, int]:
    """The version and the step that a prompt shows."""
    found = _SHOWN.findall(text)
    assert len(found) == 1, f"expected one state in the prompt, got {len(found)}"
    return int(found[0][0]), int(found[0][1])
