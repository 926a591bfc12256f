"""What the next Git commit would add: file by file, line by line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from controller.core.facts import Added, Pending
from controller.repo import Repo

_LOOKED_AT = 4 * 1024 * 1024  # bytes of the difference
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)")


@dataclass(frozen=True, slots=True)
class Difference:
    """The files that differ between two trees and their added lines; `cut`: there are more."""

    files: tuple[Pending, ...] = ()
    added: tuple[Added, ...] = ()
    cut: bool = False


@lru_cache(maxsize=8)
def difference(repo: Repo, old: str, new: str) -> Difference:
    """What changes between two trees."""
    if old == new:
        return Difference()
    files = tuple(Pending(path, before, after) for before, after, path in repo.modes(old, new))
    text = repo.patch(old, new, repo.git_dir, _LOOKED_AT)
    return Difference(files, tuple(_added(files, text)), len(text) >= _LOOKED_AT)


def _added(files: tuple[Pending, ...], text: bytes) -> Iterator[Added]:
    """Names are taken from `files`, in whose order the parts come: in a part they are quoted."""
    parts = iter([item for item in files for _ in range(_parts(item))])
    path, number = "", 0
    for line in text.split(b"\n"):
        if line.startswith(b"diff --git "):
            path, number = next(parts).path, 0
        elif hunk := _HUNK.match(line):
            number = int(hunk[1])
        elif line.startswith(b"+") and number:
            yield Added(path, number, line[1:].decode("utf-8", "replace"))
            number += 1


def _parts(item: Pending) -> int:
    """A file that becomes a link, or the like, is removed and made."""
    return 2 if "000000" not in (item.before, item.after) and (
        item.before[:3] != item.after[:3]) else 1
