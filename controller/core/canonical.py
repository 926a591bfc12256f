"""One value, one byte string: canonical JSON, and the digests taken from it.

Sorted keys, no white space, UTF-8. Integers and strings only matter for identity here; floats are
written by Python's shortest repr, so digests are stable within this program and not across others.
"""

import json
from typing import TypeAlias

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
JsonObject: TypeAlias = dict[str, JsonValue]


def entries(value: JsonValue) -> JsonObject:
    """The object that `value` is, or an empty one.

    >>> entries({"a": 1}), entries(None)
    ({'a': 1}, {})
    """
    return value if isinstance(value, dict) else {}


def members(value: JsonValue) -> list[JsonValue]:
    """The list that `value` is, or an empty one."""
    return value if isinstance(value, list) else []


def texts(value: JsonValue) -> tuple[str, ...]:
    """The texts of the list that `value` is, or none."""
    return tuple(map(str, members(value)))


def canonical(value: JsonValue) -> bytes:
    """The canonical JSON bytes of `value`. Raises ValueError for NaN and infinities.

    Half of a surrogate pair, as a file name that is not UTF-8 has it, is written as its escape.

    >>> canonical({"b": 1, "a": ["é", None]})
    b'{"a":["\\xc3\\xa9",null],"b":1}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False,
                      allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def digest(value: JsonValue) -> str:
    """SHA-256 of the canonical bytes, in hex.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """SHA-256 of `data`, in hex."""
    import hashlib

    return hashlib.sha256(data).hexdigest()
