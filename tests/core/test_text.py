"""What is shown is bounded, and holds nothing that hides or leaks."""

import base64
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.glob import matches
from controller.core.observation import LIMIT, bounded, whole
from controller.core.redact import RULES, Redactor, printable


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
    assert Redactor().clean(b"ghp_\x1b[31m" + b"a" * 36) == "[redacted: github token]"


HOLDS = Redactor(frozenset({"hunter2-hunter2"}), "canary-0123456789abcdef")


def test_held_secrets_are_redacted_by_value() -> None:
    assert HOLDS.text("a=hunter2-hunter2;") == "a=[redacted: held secret];"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
@pytest.mark.parametrize("secret", ["hunter2-hunter2", "pässwörd/+0123", "9?~>>>aaaa~~~"])
def test_a_held_secret_is_found_in_every_usual_encoding(
        secret: str, before: str, after: str) -> None:
    holds, whole = Redactor(frozenset({secret})), f"{before}{secret}{after}".encode()
    spelled = [secret[::-1], secret.encode().hex(), secret.encode().hex().upper(), quote(secret),
               base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode(),
               "\n".join(secret), base64.encodebytes(b"x" * 50 + whole).decode()]

    assert [text for text in spelled if "redacted" not in holds.text(text)] == []
    assert [text for text in spelled if holds.holds(text) != "held secret"] == []


def test_the_canary_is_known_however_it_is_spelled() -> None:
    assert HOLDS.holds("\n".join(HOLDS.canary)) == "canary"
    assert HOLDS.holds("canary-0123") == ""
    assert HOLDS.canary not in HOLDS.text(f"API_TOKEN={HOLDS.canary}")


@pytest.mark.parametrize("text", [
    "eyJ" * 300_000, "eyJ." * 250_000, "eyJaaaaaaaaaa." * 80_000, "://a:" * 200_000,
    "-----BEGIN PRIVATE KEY-----" * 40_000, "sk-" * 300_000, "\x1b]" * 400_000, "\x1b[" * 400_000,
    "hunter2-hunter" * 70_000, "ghp_" * 250_000], ids=lambda text: str(text)[:12])
def test_no_text_hangs_the_redactor(text: str) -> None:
    """Steps of the matcher, not seconds: twice the text must not be four times the work."""
    HOLDS.text(text[:1000])

    def spent(data: str) -> float:
        started = time.process_time()
        HOLDS.text(data)
        return time.process_time() - started

    half, whole = spent(text[:len(text) // 2]), spent(text)
    assert whole < 3 * half + 0.5


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
