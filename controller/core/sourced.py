"""Where something stands, so that it can be looked up: an artifact, a step, a line of a file."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from controller.core.path import path_fault

_ARTIFACT = re.compile(r"artifact:([0-9a-f]{8,64})")
_STEP = re.compile(r"step:([0-9]{1,9})")
_LINE = re.compile(r"([^\s:][^:\n]*):([0-9]{1,7})(?:-[0-9]{1,7})?(?:@([0-9a-f]{7,64}))?")


@dataclass(frozen=True, slots=True)
class InArtifact:
    """Bytes of the artifact store, by the beginning of their digest."""

    digest: str


@dataclass(frozen=True, slots=True)
class InStep:
    """What a step of this run showed."""

    step: int


@dataclass(frozen=True, slots=True)
class InFile:
    """A line of a file, in a tree or (empty) in the worktree as it is."""

    path: str
    line: int
    tree: str = ""


Pointer: TypeAlias = InArtifact | InStep | InFile

FORMS = "artifact:DIGEST, step:N or PATH:LINE"
"""How a pointer is written, for people and models."""


def pointed(text: str) -> Pointer | None:
    """The place that a text names; None when it names none.

    >>> pointed("src/app.py:12@0123abc")
    InFile(path='src/app.py', line=12, tree='0123abc')
    >>> pointed("pytest said so"), pointed("../x:1")
    (None, None)
    """
    text = text.strip()
    if hit := _ARTIFACT.fullmatch(text):
        return InArtifact(hit[1])
    if hit := _STEP.fullmatch(text):
        return InStep(int(hit[1]))
    if hit := _LINE.fullmatch(text):
        path = hit[1].removeprefix("./")
        if path.isprintable() and path_fault(path) is None:
            return InFile(path, int(hit[2]), hit[3] or "")
    return None
