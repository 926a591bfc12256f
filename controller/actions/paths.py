"""Files of the worktree, reached folder by folder from its top: no link is followed, at no moment.

Each folder on the way is opened by its name in the one before (openat(2) with O_NOFOLLOW), so a
link that is put there while we look leads nowhere, and the file that was looked at is the file that
is read or replaced. That is what openat2(2) gives with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, on
every kernel, with a word on which folder is a link.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from controller.actions.workplace import CannotPerform
from controller.core.path import path_fault

MAX_FILE = 4 * 1024 * 1024  # bytes of a file that an action reads or writes

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold us up
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for a file: the folder that holds it, open, and its name there."""

    folder: int
    name: str
    path: str

    def look(self) -> os.stat_result | None:
        """What is there, a link being itself; None: nothing."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def remove(self) -> None:
        """Remove the file or link that is there, if any."""
        with suppress(FileNotFoundError):
            os.unlink(self.name, dir_fd=self.folder)


@contextmanager
def spot(root: Path, path: str, *, make: bool = False) -> Iterator[Spot]:
    """The place of `path` below `root`, while it is held open; `make`: its folders, too.

    Raises CannotPerform when what leads there is no folder, and FileNotFoundError when it is not
    there.
    """
    fault = path_fault(path)
    if fault:
        raise CannotPerform(f"the path {path!r} {fault}")
    *folders, name = path.split("/")
    at = os.open(root, _FOLDER)
    try:
        for number, folder in enumerate(folders, 1):
            inner = _entered(at, folder, "/".join(folders[:number]), make=make)
            os.close(at)
            at = inner
        yield Spot(at, name, path)
    finally:
        os.close(at)


def read_bytes(root: Path, path: str) -> tuple[bytes, int]:
    """The content of a regular file, and its mode. Raises CannotPerform with what is there instead.
    """
    try:
        with spot(root, path) as place, _opened(place) as (file, found):
            if found.st_size > MAX_FILE:
                raise CannotPerform(f"{path} has {found.st_size} bytes; at most {MAX_FILE} are "
                                    "handled")
            with os.fdopen(os.dup(file), "rb") as reader:
                return reader.read(MAX_FILE), stat.S_IMODE(found.st_mode) & 0o777
    except FileNotFoundError:
        raise CannotPerform(f"there is no file {path}{_neighbours(root, path)}") from None


def write_bytes(root: Path, path: str, data: bytes, given: int | None = None) -> bool:
    """Make a file hold `data`: written beside it and moved into place. True: it is a new one.

    Its mode is kept; a new file gets the `given` one.
    """
    with spot(root, path, make=True) as place:
        found = place.look()
        mode = 0o644 if given is None else given
        if found:
            if not stat.S_ISREG(found.st_mode):
                raise CannotPerform(f"{path} is {_kind(found.st_mode)}, not a file")
            if found.st_nlink > 1:
                raise CannotPerform(f"{path} has other names (hard links); it can't be changed "
                                    "safely")
            mode = stat.S_IMODE(found.st_mode) & 0o777
        beside = Spot(place.folder, f".oneshot-{secrets.token_hex(6)}.tmp", path)
        try:
            with os.fdopen(os.open(beside.name, _WRITE, mode, dir_fd=place.folder), "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.rename(beside.name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        finally:
            beside.remove()
        return found is None


def there(root: Path, path: str) -> os.stat_result | None:
    """What is at a path, a link being itself; None: nothing."""
    try:
        with spot(root, path) as place:
            return place.look()
    except FileNotFoundError:
        return None


def _entered(at: int, name: str, path: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=at)
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except OSError as fault:
        if fault.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
    link = stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    raise CannotPerform(f"{path} is a symbolic link; name its target" if link else
                        f"{path} is a file, not a folder")


@contextmanager
def _opened(place: Spot) -> Iterator[tuple[int, os.stat_result]]:
    """A regular file, open, and what it is: the very one that was looked at."""
    found = place.look()
    if found and not stat.S_ISREG(found.st_mode):
        raise CannotPerform(f"{place.path} is {_kind(found.st_mode)}, not a file")
    try:
        file = os.open(place.name, _READ, dir_fd=place.folder)
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise CannotPerform(f"{place.path}: {fault.strerror}") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise CannotPerform(f"{place.path} is {_kind(found.st_mode)}, not a file")
        if found.st_nlink > 1:
            raise CannotPerform(f"{place.path} has other names (hard links): it may be a file from "
                                "elsewhere; copy it first")
        yield file, found
    finally:
        os.close(file)


def _neighbours(root: Path, path: str) -> str:
    """What stands where a file was looked for, to find a mistyped name at once."""
    folder = path.rpartition("/")[0]
    try:
        with spot(root, path) as place:
            inside = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place.folder)
    except FileNotFoundError:
        return f"; there is no folder {folder} either"
    try:
        entries = [entry.name + "/" * entry.is_dir() for entry in os.scandir(inside)]
    finally:
        os.close(inside)
    names = sorted(entries)[:20]
    return f"; beside it: {', '.join(names)}" if names else ""


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
