"""One walk over a worktree: what is there that a Git tree can't hold, or that git stumbles over.

Two walks that saw the very same (names, modes, inodes, times to the nanosecond) saw the same files.
"""

import os
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from controller.checkout import LEFT_BEHIND
from controller.core.errors import WorldError
from controller.process import SYSTEM_PATH, capture

RULES = b".gitignore"
"""The name of the files that say what git ignores."""

_DEEP = 3000
"""Bytes of a folder's path: git and the system give up soon after."""

_LEFT_BEHIND = frozenset(map(os.fsencode, LEFT_BEHIND))

_GIVEN = stat.S_ISUID | stat.S_ISGID
"""The bits by which a program runs as its owner, whoever runs it: no file of an agent's keeps them.
"""

FILE, PROGRAM, FOLDER = 0o644, 0o755, 0o755
"""The modes that a restored file or folder has by itself."""


Seen: TypeAlias = tuple[bytes, int, int, int]
"""One entry of a worktree: its path from the top, mode, change time in nanoseconds, inode."""

_MANY = 500
"""Entries that a walk of our own sees faster than another program is started."""

_AT_ONCE = 2

_FORMAT = "%m%y%C@ %i %p\\0"
_LISTED = re.compile(rb"(\d+)(\w)(\d+)\.(\d+) (\d+) \./([^\0]*)\0")
"""What find(1) is asked to say of each entry, and how that is read."""

_KINDS = {b"f": stat.S_IFREG, b"d": stat.S_IFDIR, b"l": stat.S_IFLNK, b"p": stat.S_IFIFO,
          b"s": stat.S_IFSOCK, b"c": stat.S_IFCHR, b"b": stat.S_IFBLK}

_COARSE = 2_000_000_000
_TICK = 50_000_000
"""Nanoseconds in which two changes may look like one."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Everything that a walk over a worktree saw, and when it began (nanoseconds). `deep`: folders
    with too long a path, which were not entered. `listed`: what find(1) saw for us.
    """

    near: list[Seen]
    at: int
    deep: tuple[bytes, ...] = ()
    listed: tuple[bytes, ...] = ()

    def same(self, other: "Walk") -> bool:
        """Whether another walk saw the very same."""
        return self.near == other.near and self.listed == other.listed

    @property
    def entries(self) -> Iterator[Seen]:
        """All of it."""
        yield from self.near
        for part in self.listed:
            for mode, kind, second, fraction, inode, path in _LISTED.findall(part):
                yield (path, int(mode, 8) | _KINDS[kind],
                       int(second) * 10**9 + int(fraction[:9]), int(inode))

    @property
    def settled(self) -> bool:
        """Whether nothing has changed so lately that it could change again and look the same."""
        times = [seen[2] for seen in self.entries]
        coarse = all(time % 10**9 == 0 for time in times)  # some file systems know seconds only
        return max(times, default=0) < self.at - (_COARSE if coarse else _TICK)


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


def walk(root: Path, at: int, kept: frozenset[str] = frozenset()) -> Walk:
    """Walk the worktree, which begins `at` that time.

    Folders of LEFT_BEHIND are not entered, but for those called as in `kept`: the base has files
    there. What we may not read is opened: it is ours.
    """
    left_behind = _LEFT_BEHIND - set(map(os.fsencode, kept))
    top, entries, deep, left = os.fsencode(root), list[Seen](), list[bytes](), [b""]
    helped = False
    while left:
        if len(entries) > _MANY and len(left) > 1 and not helped:
            listed, helped = _listed(top, left, left_behind), True
            if listed is not None:
                return Walk(entries, at, tuple(deep), listed)
        path = left.pop()
        for entry in _entries(top + b"/" + path):
            about, here = entry.stat(follow_symlinks=False), path + entry.name
            if stat.S_ISDIR(about.st_mode):
                if entry.name in left_behind:
                    continue
                if len(top) + len(here) > _DEEP:
                    deep.append(here)
                    continue
                left.append(here + b"/")
            entries.append((here, about.st_mode, about.st_ctime_ns, about.st_ino))
    return Walk(entries, at, tuple(deep))


def _listed(top: bytes, folders: list[bytes],
            left_behind: frozenset[bytes]) -> tuple[bytes, ...] | None:
    """What is below some folders, as find(1) says, which walks faster than we do, and on several
    processors at once; None when it can't, or when not all is as it should be there.
    """
    halves = [folders[part::_AT_ONCE] for part in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        said = list(pool.map(partial(_found, top, left_behind), filter(None, halves)))
    return tuple(part for part in said if part is not None) if None not in said else None


def _found(top: bytes, left_behind: frozenset[bytes], folders: list[bytes]) -> bytes | None:
    names = [word for name in sorted(left_behind)
             for word in ("-name", os.fsdecode(name), "-o")][:-1] or ["-false"]
    starts = [f"./{os.fsdecode(path.rstrip(b'/'))}" for path in folders]
    try:
        said = capture(("find", *starts, "-mindepth", "1", "-type", "d", "(", *names, ")", "-prune",
                        "-o", "-printf", _FORMAT), cwd=Path(os.fsdecode(top)), timeout=600,
                       env={"PATH": SYSTEM_PATH, "LC_ALL": "C"})
    except WorldError:
        return None
    shallow = len(top) + max(map(len, said.stdout.split(b"\0"))) < _DEEP
    return said.stdout if shallow and not said.exit and not said.stderr else None


def survey(root: Path, second: int, seen: Walk) -> Survey:
    """What a walk saw that matters; whatever changed in or after `second` (since the epoch) is
    fresh. What would run as somebody else is not allowed to: it is ours.
    """
    found = Survey(deep=list(map(os.fsdecode, seen.deep)))
    for here, mode, changed, _ in seen.entries:
        if not stat.S_ISDIR(mode) and changed >= second * 10**9:
            found.fresh[os.fsdecode(here)] = changed // 10**9
        if not _LEFT_BEHIND.isdisjoint(here.split(b"/")):
            pass  # the base's: they are kept as they are
        elif stat.S_ISDIR(mode):
            found.folders.append(os.fsdecode(here))
            _mode(here, mode, FOLDER, found)
        else:
            _leaf(os.fsencode(root) + b"/" + here, here, mode, found)
        if here.rpartition(b"/")[2] == b".git":
            found.nested.append(os.fsdecode(here[:-len(b"/.git")]))
    return found


def _leaf(place: bytes, here: bytes, kind: int, found: Survey) -> None:
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
