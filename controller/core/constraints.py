"""The typed constraints of a contract, judged over what a tree changes of the base.

Pure: whoever looks at the tree says what it changes, and gets a sentence for each line that is not
as the user wants it. What a tree had broken before an action is not that action's doing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

from controller.core.action import Command
from controller.core.contract import Constraint
from controller.core.dependencies import Unreadable, dependencies, is_manifest, line_of
from controller.core.glob import matches, matches_in_any_case
from controller.core.imports import falls_under, imported, is_code
from controller.core.observation import quoted
from controller.core.signatures import NO_PYTHON, signatures

_NAMED = 20  # files that a sentence names


@dataclass(frozen=True, slots=True)
class Changed:
    """What a tree changes of the base: files, lines added and removed, and for the files that a
    constraint looks into their text before and after (None: there is none).
    """

    paths: frozenset[str] = frozenset()
    lines: int = 0
    texts: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()  # packages that the base's manifests name


@dataclass(frozen=True, slots=True)
class Broken:
    """One thing that a constraint does not allow: which, and where and what in a sentence.

    `key` says what it is, wherever its line has moved to; `much`, of a number, how much it is.
    """

    constraint: str
    message: str
    key: str = ""
    much: int = 0

    def __str__(self) -> str:
        return f"{self.constraint}: {self.message}"


def worse(after: tuple[Broken, ...], before: tuple[Broken, ...]) -> tuple[Broken, ...]:
    """What is broken now and was not, or not so much: an action is blamed for nothing else."""
    known = {(item.constraint, item.key): item.much for item in before}
    return tuple(item for item in after
                 if item.much > known.get((item.constraint, item.key), -1))


def looks_into(constraints: tuple[Constraint, ...], path: str) -> bool:
    """Whether one of the constraints depends on the text of a file."""
    return any((item.no_new_dependencies and is_manifest(path))
               or (item.forbid_imports and is_code(path))
               or matches(path, item.public_api) for item in constraints)


def broken(constraints: tuple[Constraint, ...], changed: Changed) -> tuple[Broken, ...]:
    """Everything about the change that a constraint does not allow."""
    return tuple(Broken(item.id, *said) for item in constraints
                 for said in chain.from_iterable(rule(item, changed) for rule in _RULES))


def typed(constraint: Constraint) -> bool:
    """Whether a tree can break the constraint."""
    return bool(constraint.forbid_paths or constraint.max_files or constraint.max_lines
                or constraint.no_new_dependencies or constraint.public_api
                or constraint.forbid_imports)


def forbidden_command(constraints: tuple[Constraint, ...],
                      command: Command) -> Iterator[Broken]:
    """What constraints say against a command line."""
    for item in constraints:
        for pattern in item.forbid_commands:
            if re.search(pattern, str(command)):
                yield Broken(item.id, f"the contract forbids this command (it matches {pattern!r})")


Said: TypeAlias = tuple[str, str, int]
"""A sentence, what it is about, and how much of it there is."""


def _paths(item: Constraint, changed: Changed) -> Iterator[Said]:
    for path in sorted(changed.paths):
        if matches_in_any_case(path, item.forbid_paths):
            yield (f"the contract forbids to change {quoted(path)}; leave it as it is", path, 0)


def _files(item: Constraint, changed: Changed) -> Iterator[Said]:
    count = len(changed.paths)
    if item.max_files is not None and count > item.max_files:
        named = ", ".join(map(quoted, sorted(changed.paths)[:_NAMED]))
        yield (f"{count} files would differ from the base, the contract allows {item.max_files}: "
               f"{named}", "files", count)


def _lines(item: Constraint, changed: Changed) -> Iterator[Said]:
    if item.max_lines is not None and changed.lines > item.max_lines:
        yield (f"{changed.lines} lines would be added and removed, the contract allows "
               f"{item.max_lines}", "lines", changed.lines)


def _dependencies(item: Constraint, changed: Changed) -> Iterator[Said]:
    if not item.no_new_dependencies:
        return
    for path, (_, text) in sorted(changed.texts.items()):
        if text is None or not is_manifest(path):
            continue
        try:
            new = dependencies(path, text) - changed.known
        except Unreadable as fault:
            yield f"{quoted(path)}:1: {fault}; so nobody can tell what it depends on", path, 0
            continue
        for name in sorted(new):
            yield (f"{quoted(path)}:{line_of(name, text)}: {name} is a new dependency; do without, "
                   "or file a change_request", f"{path} {name}", 0)


def _imports(item: Constraint, changed: Changed) -> Iterator[Said]:
    for path, (old, text) in sorted(changed.texts.items()) if item.forbid_imports else ():
        before = {module for module, _ in imported(path, old or "")}
        for module, number in imported(path, text or ""):
            if module not in before and any(
                    falls_under(module, name) for name in item.forbid_imports):
                yield (f"{quoted(path)}:{number}: imports {module}, which the contract forbids",
                       f"{path} {module}", 0)


def _signatures(item: Constraint, changed: Changed) -> Iterator[Said]:
    for path, (old, new) in sorted(changed.texts.items()):
        if old is None or not path.endswith((".py", ".pyi")) or not matches(path, item.public_api):
            continue
        package = path.endswith(("__init__.py", "__init__.pyi"))
        try:
            was, now = signatures(old, package=package), signatures(new or "", package=package)
        except NO_PYTHON as fault:
            yield (f"{quoted(path)}:{getattr(fault, 'lineno', 1) or 1}: is no Python: {fault}",
                   path, 0)
            continue
        for name, (before, line) in was.items():
            after = now.get(name)
            if after is None:
                yield (f"{quoted(path)}:{line}: the public {name} is gone; it was `{before}`",
                       f"{path} {name}", 0)
            elif after[0] != before:
                yield (f"{quoted(path)}:{after[1]}: the public `{before}` has become `{after[0]}`",
                       f"{path} {name}", 0)


_RULES: tuple[Callable[[Constraint, Changed], Iterator[Said]], ...] = (
    _paths, _files, _lines, _dependencies, _imports, _signatures)
