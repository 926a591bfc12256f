"""One walk over a worktree: what is there that a Git tree can't hold, or that git stumbles over."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from controller.checkout import LEFT_BEHIND

RULES = b".gitignore"
"""The name of the files that say what git ignores."""

_DEEP = 3000
"""Bytes of a folder's path: git and the system give up soon after."""

_GIVEN = stat.S_ISUID | stat.S_ISGID
"""The bits by which a program runs as its owner, whoever runs it: no file of an agent's keeps them.
"""

FILE, PROGRAM, FOLDER = 0o644, 0o755, 0o755
"""The modes that a restored file or folder has by itself."""


@dataclass(slots=True)
class Survey:
    """What a walk found, by path from the top of the worktree (surrogateescape).

    Files that git ignores are among it: only git knows which they are.
    """

    folders: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)  # those that a restore would not give
    rules: list[str] = field(default_factory=list)  # files called .gitignore
    nested: list[str] = field(default_factory=list)  # folders with a `.git` of their own
    fifos: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)  # sockets and devices: nothing to keep
    deep: list[str] = field(default_factory=list)  # folders with too long a path: not entered
    fresh: dict[str, int] = field(default_factory=dict)  # changed in or after the second asked


def survey(root: Path, second: int) -> Survey:
    """Walk the worktree; whatever changed in or after `second` (since the epoch) is fresh.

    Folders of LEFT_BEHIND are not entered. What we may not read is opened, and what would run as
    somebody else is not allowed to: it is ours.
    """
    found, left = Survey(), [b""]
    while left:
        path = left.pop()
        left += _folder(os.fsencode(root), path, found, second)
    return found


def _folder(root: bytes, path: bytes, found: Survey, second: int) -> Iterator[bytes]:
    """Look at one folder; yields the folders in it that are to be looked at."""
    for entry in _entries(root + b"/" + path):
        here = path + entry.name
        about = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(about.st_mode):
            if os.fsdecode(entry.name) in LEFT_BEHIND:
                continue
            if len(root) + len(here) > _DEEP:
                found.deep.append(os.fsdecode(here))
                continue
            found.folders.append(os.fsdecode(here))
            _mode(here, about.st_mode, FOLDER, found)
            yield here + b"/"
        else:
            _leaf(entry.path, here, about, found)
            if about.st_ctime >= second:
                found.fresh[os.fsdecode(here)] = int(about.st_ctime)
        if entry.name == b".git":
            found.nested.append(os.fsdecode(path[:-1]))


def _leaf(place: bytes, here: bytes, about: os.stat_result, found: Survey) -> None:
    kind = about.st_mode
    if stat.S_ISREG(kind):
        if kind & _GIVEN or not kind & stat.S_IRUSR:
            kind = stat.S_IFREG | (stat.S_IMODE(kind) | stat.S_IRUSR) & ~_GIVEN
            os.chmod(place, stat.S_IMODE(kind))  # noqa: PTH101  (a path in bytes)
        _mode(here, kind, PROGRAM if kind & stat.S_IXUSR else FILE, found)
        if here.rpartition(b"/")[2] == RULES:
            found.rules.append(os.fsdecode(here))
    elif stat.S_ISFIFO(kind):
        found.fifos.append(os.fsdecode(here))
        _mode(here, kind, FILE, found)
    elif not stat.S_ISLNK(kind):
        found.special.append(os.fsdecode(here))


def _mode(here: bytes, mode: int, usual: int, found: Survey) -> None:
    if stat.S_IMODE(mode) != usual:
        found.modes[os.fsdecode(here)] = stat.S_IMODE(mode)


def _entries(folder: bytes) -> Iterator[os.DirEntry[bytes]]:
    try:
        entries = list(os.scandir(folder))
        for entry in entries:
            entry.stat(follow_symlinks=False)
    except PermissionError:
        os.chmod(folder, 0o700)  # noqa: PTH101  (a path in bytes)
        entries = list(os.scandir(folder))
    return iter(entries)
