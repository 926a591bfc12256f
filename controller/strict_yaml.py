"""YAML for people, read strictly: YAML 1.2 scalars, no duplicate keys, no aliases, every value with
its place, and every fault as `file:line:col: expected …, got …; did you mean …`.

PyYAML's own loaders take the last of two equal keys and read `no` as False. We use its
nodes, which have line and column, and decide ourselves what a scalar is. JSON is read as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from controller.core.canonical import JsonObject, JsonValue
from controller.core.errors import SetupError
from controller.core.faults import faults
from controller.core.pointer import pointer, split

if TYPE_CHECKING:
    from yaml import Node

Places = Mapping[str, tuple[int, int]]
"""JSON Pointer -> line and column, both from 1, where the key or item stands."""

_BROKEN = re.compile("[\ud800-\udfff\0]")
_LONGEST = 20_000  # characters of one value
_DIGITS = 18  # of an integer; what has more is a float, or a text in quotes

_SHOWN = 20  # faults of one file that are listed

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, JsonValue] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read: its content, and where each part of it stands."""

    path: Path
    value: JsonObject
    places: Places

    def where(self, path: str) -> str:
        """`file:line:col` of what a JSON Pointer leads to, or of the nearest thing around it."""
        parts = split(path)
        for end in range(len(parts), -1, -1):
            place = self.places.get(pointer(*parts[:end]))
            if place:
                return f"{self.path}:{place[0]}:{place[1]}"
        return f"{self.path}:1:1"


def load(path: Path, schema: JsonObject) -> Document:
    """The file at `path`, checked against a JSON Schema. Raises SetupError listing every fault."""
    document = read(path)
    found = faults(document.value, schema)
    if found:
        ordered = sorted({_sentence(document, fault.path, fault.message) for fault in found},
                         key=lambda sentence: (_line_and_column(sentence), sentence))
        raise SetupError("\n".join(ordered[:_SHOWN]))
    return document


def read(path: Path) -> Document:
    """The file at `path`, a mapping. Raises SetupError with the place of the first fault."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise SetupError(f"{path}: there is no such file; `oneshot init` makes one") from None
    except UnicodeDecodeError as fault:
        raise SetupError(f"{path}:1:1: expected UTF-8, got another byte at {fault.start}") from None
    except OSError as fault:
        raise SetupError(f"{path}:1:1: can't be read: {fault.strerror}") from None
    return parsed(path, text)


def parsed(path: Path, text: str) -> Document:
    """The mapping that a text says, which stands in `path`. Raises SetupError as `read` does."""
    import yaml

    try:
        _refuse_extras(path, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as fault:
        if "quoted scalar" in str(fault.context) and "end of stream" in str(fault.problem):
            raise SetupError(f"{_at(path, fault.context_mark)}: not YAML: the quoted text that "
                             "begins here has no end") from None
        raise SetupError(f"{_at(path, fault.problem_mark)}: not YAML: {fault.problem}") from None
    except yaml.YAMLError as fault:
        raise SetupError(f"{path}:1:1: not YAML: {fault}") from None
    reader = _Reader(path, {})
    value = reader.value(node, "") if node else None
    if not isinstance(value, dict):
        raise SetupError(f"{path}:1:1: expected a mapping of keys to values, got "
                         f"{'nothing' if value is None else type(value).__name__}")
    return Document(path, value, reader.places)


@dataclass(slots=True)
class _Reader:
    path: Path
    places: dict[str, tuple[int, int]]

    def value(self, node: "Node", at: str) -> JsonValue:
        import yaml

        self.places.setdefault(at, (node.start_mark.line + 1, node.start_mark.column + 1))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, at + pointer(index)) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        if len(node.value) > _LONGEST or _BROKEN.search(node.value):
            raise SetupError(f"{_at(self.path, node.start_mark)}: expected a text of at most "
                             f"{_LONGEST} whole characters")
        value = _scalar(node.value) if node.style is None else str(node.value)
        if isinstance(value, float) and isinf(value):
            raise SetupError(f"{_at(self.path, node.start_mark)}: the number {node.value} does not "
                             "fit; put it in quotes if it is text")
        return value

    def _mapping(self, node: "Node", at: str) -> JsonObject:
        found: JsonObject = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            place = _at(self.path, key_node.start_mark)
            if not isinstance(key_node.value, str):
                raise SetupError(f"{place}: expected a plain key, got a list or mapping")
            if key in found:
                first = self.places[at + pointer(key)]
                raise SetupError(f"{place}: the key {key!r} stands twice, first at line "
                                 f"{first[0]}; keep one")
            mark = key_node.start_mark
            self.places[at + pointer(key)] = (mark.line + 1, mark.column + 1)
            found[key] = self.value(value_node, at + pointer(key))
        return found


def _scalar(text: str) -> JsonValue:
    """A plain scalar by the YAML 1.2 core schema: `no`, `on` and dates are strings."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _DIGITS and _INT.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    return float(text) if _FLOAT.fullmatch(text) else text


def _refuse_extras(path: Path, text: str) -> None:
    """YAML without tags and aliases is what people mean and all that we need."""
    import yaml

    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        place = _at(path, event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise SetupError(f"{place}: expected the value itself, got the alias *{event.anchor}; "
                             "write it out")
        tag = getattr(event, "tag", None)
        if tag:
            raise SetupError(f"{place}: expected plain YAML, got the tag {tag}; remove it")


def _sentence(document: Document, path: str, message: str) -> str:
    return f"{document.where(path)}: {path or '/'}: {message}"


def _line_and_column(sentence: str) -> tuple[int, int]:
    found = re.search(r":(\d+):(\d+): ", sentence)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class _Mark(Protocol):
    line: int
    column: int


def _at(path: Path, mark: _Mark | None) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else f"{path}:1:1"
