"""The intent contract as a value: what a run is for and must not touch. No model writes it."""

from dataclasses import dataclass
from typing import TypeAlias

from controller.core.action import Command


@dataclass(frozen=True, slots=True)
class CommandCheck:
    """Holds when the command exits with `expect_exit` in a clean export of the Git commit."""

    command: Command
    expect_exit: int = 0


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Holds when the file exists in the Git commit (and has the text, if one is given)."""

    path: str
    contains: str | None = None

Check: TypeAlias = CommandCheck | FileCheck


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that must be proved before the run is done."""

    id: str
    text: str
    check: Check


@dataclass(frozen=True, slots=True)
class Contract:
    """What this run is for and must not touch. Belongs to the user."""

    goal: str
    success_criteria: tuple[Criterion, ...]
    locked_requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    allow_paths: tuple[str, ...] = ()
    forbid_paths: tuple[str, ...] = ()
    max_files: int | None = None
    non_goals: tuple[str, ...] = ()
    approval_boundaries: tuple[str, ...] = ()
    must_remember: tuple[str, ...] = ()
    priority_order: tuple[str, ...] = ()
