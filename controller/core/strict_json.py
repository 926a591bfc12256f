"""Reading JSON that we do not trust: refused with a reason, or exactly what was written.

Python's own reader is kinder than a gate may be: it takes the last of two equal keys, NaN and
Infinity, turns 1e999 into infinity, accepts half of a surrogate pair and recurses until it dies.
All of these are refused here. Nothing is repaired: a guessed patch must not reach a gate.
"""

import json
import re
from dataclasses import dataclass
from math import isinf
from typing import NoReturn

from controller.core.canonical import JsonObject, JsonValue

_FENCE = re.compile(r"```[A-Za-z0-9_-]{0,40}[ \t]{0,40}")
_DIGITS = 16  # an integer of more digits is not the same number in every reader


class NotJson(ValueError):
    """Why these bytes are not one JSON object: a sentence for whoever wrote them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much JSON is read at all."""

    size: int = 256 * 1024
    depth: int = 32


def read_reply(raw: bytes, bounds: Bounds = Bounds()) -> JsonObject:
    """The one JSON object in a model's reply: bare, in exactly one fenced block, or the only
    balanced one in a text. Found, never repaired. Raises NotJson with the reason.

    >>> read_reply(b'{"a": 1}')
    {'a': 1}
    >>> read_reply(b'Here it is:\\n```json\\n{"a": 1}\\n```\\n')
    {'a': 1}
    >>> read_reply(b'I did this: {"a": 1}. Done!')
    {'a': 1}
    """
    text = _decoded(raw, bounds)
    stripped = text.strip()
    fenced = [] if stripped.startswith("{") else _fenced(text)
    if fenced:
        return read_object(_only(fenced, "fenced blocks").strip(), bounds)
    objects = _balanced(stripped)
    if objects:
        return read_object(_only(objects, "of them"), bounds)
    if stripped.startswith("{"):
        return read_object(stripped, bounds)  # says where it ends too early
    raise NotJson("expected one JSON object and nothing around it, got "
                  + (f"text that begins {stripped[:40]!r}" if stripped else "an empty reply"))


def _only(found: list[str], what: str) -> str:
    if len(found) > 1:
        raise NotJson(f"expected one JSON object, got {len(found)} {what}; send one")
    return found[0]


def _balanced(text: str) -> list[str]:
    """Every balanced {…} at the top of a text; braces in the strings inside don't count."""
    found, start, depth, quoted, escaped = [], 0, 0, False, False
    for place, char in enumerate(text):
        if quoted:
            quoted, escaped = escaped or char != '"', char == "\\" and not escaped
        elif char == '"':
            quoted = depth > 0
        elif char == "{":
            start, depth = (start if depth else place), depth + 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                found.append(text[start:place + 1])
    return found


def read_object(text: str, bounds: Bounds = Bounds()) -> JsonObject:
    """The JSON object that `text` is, strictly (RFC 8259). Raises NotJson with the reason.

    >>> read_object('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    controller.core.strict_json.NotJson: the key "a" stands twice in one object; keep one
    """
    value = read_value(text, bounds)
    if not isinstance(value, dict):
        raise NotJson(f"expected a JSON object, got {_kind(value)}")
    return value


def read_value(text: str, bounds: Bounds = Bounds()) -> JsonValue:
    """Any JSON value that `text` is, as strictly. Raises NotJson with the reason."""
    _check_depth(text, bounds.depth)
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant,
            parse_float=_finite, parse_int=_short)
    except json.JSONDecodeError as fault:
        place = f"line {fault.lineno}, column {fault.colno}"
        raise NotJson(f"not JSON at {place}: {fault.msg}") from None
    _check_text(value)
    return value


def _fenced(text: str) -> list[str]:
    """The content of every fenced block, in one pass over the lines."""
    found: list[str] = []
    inside: list[str] | None = None
    for line in text.split("\n"):
        if not _FENCE.fullmatch(line.rstrip("\r")):
            if inside is not None:
                inside.append(line)
        elif inside is None:
            inside = []
        else:
            found.append("\n".join(inside))
            inside = None
    return found


def _decoded(raw: bytes, bounds: Bounds) -> str:
    if len(raw) > bounds.size:
        raise NotJson(f"expected at most {bounds.size} bytes, got {len(raw)}; send less")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        byte = f"0x{raw[fault.start]:02x}"
        raise NotJson(f"expected UTF-8, got byte {byte} at {fault.start}") from None
    if text.startswith("\ufeff"):
        raise NotJson("expected no byte order mark before the JSON object")
    return text


def _check_depth(text: str, limit: int) -> None:
    """Count brackets outside strings before the real reader recurses over them."""
    depth, quoted, escaped = 0, False, False
    for char in text:
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in "[{":
            depth += 1
            if depth > limit:
                raise NotJson(f"expected at most {limit} levels of nesting; flatten it")
        elif char in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise NotJson(f"the key {json.dumps(key)} stands twice in one object; keep one")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON value; write a number or a string")


def _finite(text: str) -> float:
    """A number as JSON means it: 5.0 is the integer 5."""
    number = float(text)
    if isinf(number):
        raise NotJson(f"the number {text[:20]} does not fit; write it as a string")
    return int(number) if number.is_integer() and abs(number) < 10**_DIGITS else number


def _short(text: str) -> int:
    if len(text.lstrip("-")) > _DIGITS:
        raise NotJson(f"the integer {text[:20]}… is too long; write it as a string")
    return int(text)


def _check_text(value: JsonValue) -> None:
    match value:
        case str():
            _check_surrogates(value)
        case list():
            for item in value:
                _check_text(item)
        case dict():
            for key, below in value.items():
                _check_surrogates(key)
                _check_text(below)
        case None | int() | float():
            return


def _check_surrogates(text: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise NotJson("half of a surrogate pair in a string; write the whole character")


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
