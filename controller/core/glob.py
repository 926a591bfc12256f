"""Path patterns as people know them from .gitignore: `*` within a folder, `**` across folders."""

import re
from collections.abc import Iterable
from functools import cache
from unicodedata import normalize


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
    return bool(globs) and matches(_same(path), tuple(map(_same, globs)))


def _same(name: str) -> str:
    """What is one name on some systems: in any case, however its accents are put together."""
    return normalize("NFC", normalize("NFC", name).casefold())


def glob_fault(glob: str) -> str | None:
    """Why a pattern would never match what whoever writes it means; None: it may.

    >>> glob_fault("./src/**"), glob_fault("src/**")
    ("begins with './'; leave that out", None)
    """
    if glob.startswith("./"):
        return "begins with './'; leave that out"
    if any(char in glob for char in "{}[]"):
        return "has brackets, which mean nothing here; write two patterns"
    if "\\" in glob or glob != glob.strip() or ".." in glob.split("/"):
        return "has a backslash, '..' or white space around it; no path of Git's looks like that"
    return None
