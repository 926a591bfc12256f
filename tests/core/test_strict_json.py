"""Replies are refused with a reason, or are exactly what was written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.strict_json import Bounds, NotJson, read_reply

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-10**15, 10**15) | st.floats(
        allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below,
                                                                max_size=3), max_leaves=10)


@pytest.mark.parametrize(("body", "reason"), [
    (b"", "got an empty reply"),
    (b"   \n", "got an empty reply"),
    (b"I will read the file.", "text that begins 'I will read the file.'"),
    (b"[1]", "expected one JSON object"),
    (b"null", "expected one JSON object"),
    (b'{"a": 1', "not JSON at line 1"),
    (b'{"a": 1,}', "not JSON at line 1, column"),
    (b"{'a': 1}", "not JSON at line 1, column 2"),
    (b'{"a": 1}\n{"a": 2}', "expected one JSON object, got 2 of them"),
    (b'First {"a": 1}, then {"a": 2}.', "expected one JSON object, got 2 of them"),
    (b'So: {"a": 1', "text that begins"),
    (b'{"a": 1, "a": 1}', 'the key "a" stands twice'),
    (b'{"a": {"b": 1, "b": 2}}', 'the key "b" stands twice'),
    (b'{"a": NaN}', "NaN is not a JSON value"),
    (b'{"a": Infinity}', "Infinity is not a JSON value"),
    (b'{"a": -Infinity}', "-Infinity is not a JSON value"),
    (b'{"a": 1e999}', "the number 1e999 does not fit"),
    (b'{"a": -1e999}', "the number -1e999 does not fit"),
    (b'{"a": 12345678901234567}', "too long; write it as a string"),
    (b'{"a": "\\ud800"}', "half of a surrogate pair"),
    (b'{"\\udfff": 1}', "half of a surrogate pair"),
    (b'{"a": "\xff"}', "expected UTF-8, got byte 0xff at 7"),
    ('{"a": 1}'.encode("utf-16"), "expected UTF-8"),
    (b'\xef\xbb\xbf{"a": 1}', "no byte order mark"),
    (b'{"a": "\x00"}', "not JSON"),
    (b'{"a": "\n"}', "not JSON"),
    (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "at most 32 levels"),
    (b'{"a": ' + b"[" * 200_000, "at most 32 levels"),
    (b'{"a": "' + b"x" * 300_000 + b'"}', "expected at most 262144 bytes, got 300009"),
    (b"```json\n{}\n```\n```json\n{}\n```", "got 2 fenced blocks"),
    (b"```json\n[1]\n```", "expected a JSON object, got an array"),
])
def test_what_is_not_one_json_object_is_refused_with_the_reason(body: bytes, reason: str) -> None:
    with pytest.raises(NotJson) as refusal:
        read_reply(body)

    assert reason in str(refusal.value)


@pytest.mark.parametrize("body", [
    b'{"a": 1}', b'\n\n{"a": 1}\n', b'```json\n{"a": 1}\n```', b'```\n{"a": 1}\n```',
    b'Here it is:\n\n```json\n{"a": 1}\n```\nI hope it helps.',
], ids=["bare", "white-space", "fence", "plain-fence", "prose-around"])
def test_one_object_is_accepted_bare_or_in_one_fence(body: bytes) -> None:
    assert read_reply(body) == {"a": 1}


@given(st.dictionaries(st.text(max_size=5), values, max_size=5))
def test_what_was_written_is_what_is_read(document: dict[str, Any]) -> None:
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        assert read_reply(text.encode()) == document


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_a_reason(body: bytes) -> None:
    try:
        found: object = read_reply(body)
    except NotJson as refusal:
        found = {"why": str(refusal)}

    assert isinstance(found, dict)
    assert found != {"why": ""}


@given(st.dictionaries(st.text(max_size=5), values, min_size=1, max_size=3), st.data())
def test_a_cut_reply_is_never_completed(document: dict[str, Any], data: Any) -> None:
    whole = json.dumps(document).encode()
    cut = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(NotJson):
        read_reply(whole[:cut])


def test_brackets_in_strings_are_no_depth() -> None:
    body = b'{"a": "' + b"[{" * 100 + b'\\""}'

    assert read_reply(body, Bounds(depth=2)) == {"a": "[{" * 100 + '"'}


def test_many_fences_are_read_in_one_pass() -> None:
    with pytest.raises(NotJson, match="fenced blocks; send one"):
        read_reply(b"```x\n" * 40_000)


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    found = read_reply(b'{"a": 5.0, "b": 5, "c": 5e0, "d": 5.5}')

    assert [type(value).__name__ for value in found.values()] == ["int", "int", "int", "float"]
