"""Paths that an action may name: relative, plain, and the same file on every system."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

CONTROLLED = (".git", ".agent-contract", ".agent-runtime")
"""Folders that belong to Git, the user and the controller."""

_LONGEST, _LONGEST_PART = 1024, 255  # bytes

_IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]")
"""What HFS+ leaves out when it compares names (git: utf8.c), and more that nobody sees."""

_SHORT = re.compile(r"git~[0-9]+")
"""The short name that NTFS gives to `.git`."""


_DEVICE = re.compile(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]")


def path_fault(path: str) -> str | None:
    """Why no action may name this path, in words that follow it; None when one may.

    >>> path_fault("src/app.py")
    >>> path_fault(".g\\u200cit/config")
    'must not contain invisible characters'
    >>> path_fault("GIT~1/config")
    'belongs to Git, the user or the controller'
    """
    if len(path) > _LONGEST:
        return "is too long"
    parts = path.split("/")
    for bad, words in (
        (path.startswith(("/", "~")) or "\\" in path,
         "must be relative to the root of the repository, with forward slashes"),
        (bool({"..", ".", ""} & {*unicodedata.normalize("NFKC", path).split("/")}),
         "must not contain '.', '..' or empty parts"),
        (any(unicodedata.category(char) in ("Cc", "Cs") for char in path),
         "must not contain control characters"),
        (bool(_IGNORED.search(path)) or any(unicodedata.category(char) == "Cf" for char in path),
         "must not contain invisible characters"),
        (any(part.startswith("-") for part in parts), "must not begin with a dash"),
        (is_controlled(path),
         "belongs to Git, the user or the controller"),
        (len(path.encode("utf-8", "replace")) > _LONGEST or any(
            len(part.encode("utf-8", "replace")) > _LONGEST_PART for part in parts), "is too long"),
    ):
        if bad:
            return words
    return None


def is_controlled(path: str) -> bool:
    """Whether a path lies in a folder of Git's, the user's or the controller's, by any name that
    some system gives it.
    """
    parts = [plain(part) for part in path.split("/")]
    return parts[0] in CONTROLLED or any(
        part == ".git" or _SHORT.fullmatch(part) for part in parts)


def unportable(path: str) -> str | None:
    """Why no new file should have this path: some systems can't have such a name.

    >>> unportable("docs/aux.md")
    "has a name that Windows keeps for itself ('aux.md')"
    """
    for part in path.split("/"):
        if _DEVICE.fullmatch(part.split(".")[0]):
            return f"has a name that Windows keeps for itself ({part!r})"
        if part != part.rstrip(". ") or any(char in '<>:"|?*' for char in part):
            return f"has characters in it that some systems don't allow ({part!r})"
    return None


def plain(name: str) -> str:
    """A name as a system compares it that has one form, one case, and no trailing dots, blanks or
    streams: what git's protectHFS and protectNTFS look at.

    >>> plain(".GIT::$INDEX_ALLOCATION"), plain(".git. ")
    ('.git', '.git')
    """
    seen = _IGNORED.sub("", unicodedata.normalize("NFKC", name)).casefold()
    return seen.split(":")[0].rstrip(". ")


def namesake(path: str, others: frozenset[str]) -> str | None:
    """Another path of `others` that is the same file where names have one form and one case.

    >>> namesake("readme.md", frozenset({"README.md"}))
    'README.md'
    """
    found = _by_form(others).get(form(path))
    return found if found != path else None


def form(path: str) -> str:
    """What two paths have in common that are one file on such a system."""
    return unicodedata.normalize("NFC", path).casefold()


def twins(paths: Iterable[str]) -> tuple[str, str] | None:
    """Two different paths among these that are one file on such a system."""
    seen: dict[str, str] = {}
    for path in paths:
        if seen.setdefault(form(path), path) != path:
            return seen[form(path)], path
    return None


@lru_cache(maxsize=4)
def _by_form(paths: frozenset[str]) -> dict[str, str]:
    return {form(path): path for path in paths}
