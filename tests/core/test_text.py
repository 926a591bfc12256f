"""What is shown is bounded, and holds nothing that hides or leaks."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.glob import matches
from controller.core.observation import LIMIT, bounded, whole
from controller.core.redact import RULES, clean, printable, redact


@given(st.text(max_size=3000), st.integers(200, 900))
def test_bounded_text_fits_and_short_text_is_whole(text: str, limit: int) -> None:
    shown = bounded(text, limit, "0123456789abcdef")

    assert len(shown.encode()) <= limit
    if len(text.encode("utf-8", "replace")) <= limit:
        assert shown == text


def test_the_tail_gets_the_larger_share() -> None:
    shown = bounded("".join(f"{n:05}\n" for n in range(5000)), 3000)

    head, tail = shown.split("[…")
    assert len(tail) > len(head) > 500


@given(st.text(max_size=20_000), st.text(max_size=20_000))
def test_what_a_step_is_shown_fits(observation: str, before: str) -> None:
    shown = whole(observation, before)

    assert len(shown.encode()) <= LIMIT
    assert ("Before that, you were shown:" in shown) >= bool(before)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_repeats_a_bounded_number_of_times(name: str) -> None:
    """So that no input can hang the redactor."""
    from re import _constants, _parser  # type: ignore[attr-defined]  # no public way to ask

    def repeats(parsed: Any) -> Iterator[Any]:
        for item in parsed:
            if isinstance(item, _parser.SubPattern | tuple | list):
                yield from repeats(item)
            elif item is _constants.MAXREPEAT:
                yield item

    assert list(repeats(_parser.parse(RULES[name].pattern))) == []
    assert list(repeats(_parser.parse("a*")))  # the look itself finds what it looks for


def test_a_secret_with_a_colour_code_in_it_is_still_one() -> None:
    assert clean(b"ghp_\x1b[31m" + b"a" * 36) == "[redacted: github token]"


def test_held_secrets_are_redacted_by_value() -> None:
    assert redact("a=hunter2;", ("hunter2",)) == "a=[redacted: held secret];"


@pytest.mark.parametrize(("text", "shown"), [
    ("a\x1b[2Jb", "ab"), ("a\x1b]0;title\x07b", "ab"), ("a\x1b]8;;http://x\x1b\\b", "ab"),
    ("10%\r20%\r\n", "10%20%\n"), ("a\x00b\x08c", "abc"), ("tab\tand\nline", "tab\tand\nline"),
    ("a\x9b31mb", "a31mb"), ("ü “x” 🙂", "ü “x” 🙂"), ("a\x1bPq\x1b\\b", "ab"),
])
def test_printable_keeps_text_and_drops_what_moves_a_cursor(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(("path", "glob", "expected"), [
    ("a.lock", "*.lock", True), ("x/a.lock", "*.lock", True), ("src/a.py", "src/*.py", True),
    ("src/x/a.py", "src/*.py", False), ("src/x/a.py", "src/**/*.py", True),
    ("src/a.py", "src/**/*.py", True), ("tests/a", "tests/**", True), ("tests", "tests/**", False),
    ("tests/x/a", "tests", True), ("a/tests/x", "/tests", False),
    ("my/tests/a", "tests/**", False), ("tests/x/a", "tests/", True), ("a[1].py", "a[1].py", True),
    ("conftest.py", "conftest.py", True), ("x/conftest.py", "conftest.py", True),
    ("ab", "a?", True), ("a/", "a?", False), ("a\nb.lock", "*.lock", True),
    ("A.lock", "a.lock", False), ("a/b/c.py", "**/**/*.py", True), ("a/b/c", "a/***", True),
    ("a/" * 60 + "b", "**/" * 40 + "c", False),
])
def test_globs_match_as_in_gitignore(path: str, glob: str, expected: bool) -> None:
    assert matches(path, [glob]) is expected
