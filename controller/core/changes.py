"""What differs between two states, leaf by leaf."""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.core.canonical import JsonObject, JsonValue
from controller.core.pointer import pointer


@dataclass(frozen=True, slots=True)
class Changed:
    """One path of a state whose value differs. None: there was, or is, nothing."""

    path: str
    old: JsonValue
    new: JsonValue


def changes(old: JsonValue, new: JsonValue, path: str = "") -> Iterator[Changed]:
    """Every path that differs, in order; objects are gone into, everything else is a leaf.

    >>> [c.path for c in changes({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}, "d": 3})]
    ['/a/c', '/d']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from changes(old.get(key), new.get(key), path + pointer(key))
    elif old != new:
        yield Changed(path, old, new)


def leaves(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """(path, value) of everything in a value that is not an object with something in it.

    >>> list(leaves({"a": {"b": 1}, "c": {}}))
    [('/a/b', 1), ('/c', {})]
    """
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from leaves(value[key], path + pointer(key))
    else:
        yield path, value


def value_at(state: JsonObject, keys: tuple[str, ...]) -> JsonValue:
    """What stands in a state where `keys` lead. Raises KeyError when nothing does."""
    found: JsonValue = state
    for key in keys:
        if not isinstance(found, dict):
            raise KeyError(key)
        found = found[key]
    return found
