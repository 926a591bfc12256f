"""Path patterns as people know them from .gitignore: `*` within a folder, `**` across folders."""

import re
from collections.abc import Iterable
from functools import cache


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether any of `globs` matches the path. A pattern without a slash matches a name anywhere;
    one that begins with a slash, at the root only. What matches a folder matches all below it.

    >>> matches("tests/unit/test_a.py", ["tests/**"])
    True
    >>> matches("pkg/poetry.lock", ["*.lock"]), matches("src/a/b.py", ["src/*.py"])
    (True, False)
    >>> matches("tests/unit/test_a.py", ["tests"])
    True
    """
    return bool(_pattern(tuple(globs)).fullmatch(path))


@cache
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """All of them at once; none of no globs matches."""
    return re.compile("|".join(map(_whole, globs)) or "(?!)", re.DOTALL)


def _whole(glob: str) -> str:
    anywhere = "" if "/" in glob.rstrip("/") else "(?:.*/)?"
    return anywhere + _body(glob.strip("/")) + "(?:/.*)?"


def _body(glob: str) -> str:
    glob = re.sub(r"(?:\*\*/)+", "**/", re.sub(r"\*{3,}", "**", glob))
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    spoken = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(spoken.get(part, re.escape(part)) for part in parts)


def matches_in_any_case(path: str, globs: tuple[str, ...]) -> bool:
    """As `matches`, where `Docs/` is `docs/`, as it is on many systems: for what is forbidden.

    >>> matches_in_any_case("DOCS/a.md", ("docs/**",))
    True
    """
    return bool(globs) and matches(path.casefold(), tuple(glob.casefold() for glob in globs))
