"""The typed constraints of a contract, judged over what a tree changes of the base.

Pure: whoever looks at the tree says what it changes, and gets a sentence for each line that is not
as the user wants it. What a tree had broken before an action is not that action's doing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from controller.core.action import Command
from controller.core.contract import Constraint
from controller.core.dependencies import Unreadable, dependencies, is_manifest, line_of
from controller.core.glob import matches, matches_in_any_case
from controller.core.imports import falls_under, imports, is_code
from controller.core.observation import quoted
from controller.core.signatures import signatures

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
    """One thing that a constraint does not allow: which, and where and what in a sentence."""

    constraint: str
    message: str

    def __str__(self) -> str:
        return f"{self.constraint}: {self.message}"


def looks_into(constraints: tuple[Constraint, ...], path: str) -> bool:
    """Whether one of the constraints depends on the text of a file."""
    return any((item.no_new_dependencies and is_manifest(path))
               or (item.forbid_imports and is_code(path))
               or matches(path, item.public_api) for item in constraints)


def broken(constraints: tuple[Constraint, ...], changed: Changed) -> tuple[Broken, ...]:
    """Everything about the change that a constraint does not allow."""
    return tuple(Broken(item.id, message) for item in constraints
                 for message in chain.from_iterable(rule(item, changed) for rule in _RULES))


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


def _paths(item: Constraint, changed: Changed) -> Iterator[str]:
    for path in sorted(changed.paths):
        if matches_in_any_case(path, item.forbid_paths):
            yield f"the contract forbids to change {quoted(path)}; leave it as it is"


def _files(item: Constraint, changed: Changed) -> Iterator[str]:
    count = len(changed.paths)
    if item.max_files is not None and count > item.max_files:
        named = ", ".join(map(quoted, sorted(changed.paths)[:_NAMED]))
        yield (f"{count} files would differ from the base, the contract allows {item.max_files}: "
               f"{named}")


def _lines(item: Constraint, changed: Changed) -> Iterator[str]:
    if item.max_lines is not None and changed.lines > item.max_lines:
        yield (f"{changed.lines} lines would be added and removed, the contract allows "
               f"{item.max_lines}")


def _dependencies(item: Constraint, changed: Changed) -> Iterator[str]:
    if not item.no_new_dependencies:
        return
    for path, (_, text) in sorted(changed.texts.items()):
        if text is None or not is_manifest(path):
            continue
        try:
            new = dependencies(path, text) - changed.known
        except Unreadable as fault:
            yield f"{quoted(path)}:1: {fault}; so nobody can tell what it depends on"
            continue
        for name in sorted(new):
            yield (f"{quoted(path)}:{line_of(name, text)}: {name} is a new dependency; do without, "
                   "or file a change_request")


def _imports(item: Constraint, changed: Changed) -> Iterator[str]:
    for path, (old, text) in sorted(changed.texts.items()) if item.forbid_imports else ():
        before = {module for line in (old or "").splitlines() for module in imports(path, line)}
        for number, line in enumerate((text or "").splitlines(), 1):
            for module in imports(path, line):
                if module not in before and any(
                        falls_under(module, name) for name in item.forbid_imports):
                    yield f"{quoted(path)}:{number}: imports {module}, which the contract forbids"


def _signatures(item: Constraint, changed: Changed) -> Iterator[str]:
    for path, (old, new) in sorted(changed.texts.items()):
        if old is None or not path.endswith((".py", ".pyi")) or not matches(path, item.public_api):
            continue
        try:
            was, now = signatures(old), signatures(new or "")
        except (SyntaxError, ValueError) as fault:
            yield f"{quoted(path)}:{getattr(fault, 'lineno', 1) or 1}: is no Python: {fault}"
            continue
        for name, (before, line) in was.items():
            after = now.get(name)
            if after is None:
                yield f"{quoted(path)}:{line}: the public {name} is gone; it was `{before}`"
            elif after[0] != before:
                yield f"{quoted(path)}:{after[1]}: the public `{before}` has become `{after[0]}`"


_RULES: tuple[Callable[[Constraint, Changed], Iterator[str]], ...] = (
    _paths, _files, _lines, _dependencies, _imports, _signatures)
