"""Files of the worktree, reached without following a link out of it."""

import os
import stat
from pathlib import Path

from controller.actions.workplace import CannotPerform
from controller.core.gates.action_policy import path_fault

MAX_FILE = 4 * 1024 * 1024  # bytes of a file that an action reads or writes


def locate(root: Path, path: str) -> Path:
    """The place of `path` below `root`. Raises CannotPerform when what leads there is no folder."""
    fault = path_fault(path)
    if fault:
        raise CannotPerform(f"the path {path!r} {fault}")
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        if place.is_symlink():
            raise CannotPerform(f"{place.relative_to(root)} is a symbolic link; name its target")
        if place.exists() and not place.is_dir():
            raise CannotPerform(f"{place.relative_to(root)} is a file, not a folder")
    return place / path.rpartition("/")[2]


def read_bytes(root: Path, path: str) -> bytes:
    """The content of a regular file. Raises CannotPerform with what is there instead."""
    place = locate(root, path)
    try:
        found = place.lstat()
    except FileNotFoundError:
        raise CannotPerform(f"there is no file {path}{_neighbours(root, place)}") from None
    except OSError as fault:
        raise CannotPerform(f"{path}: {fault.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise CannotPerform(f"{path} is {_kind(found.st_mode)}, not a file")
    if found.st_size > MAX_FILE:
        raise CannotPerform(f"{path} has {found.st_size} bytes; at most {MAX_FILE} are handled")
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read(MAX_FILE)


def write_bytes(root: Path, path: str, data: bytes, given: int | None = None) -> None:
    """Make a file hold `data`: written beside it and moved into place.

    Its mode is kept; a new file gets the `given` one.
    """
    place = locate(root, path)
    mode = 0o644 if given is None else given
    if place.is_symlink() or place.exists():
        found = place.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise CannotPerform(f"{path} is {_kind(found.st_mode)}, not a file")
        if found.st_nlink > 1:
            raise CannotPerform(f"{path} has other names (hard links); it can't be changed safely")
        mode = stat.S_IMODE(found.st_mode)
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".oneshot-{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
        beside.chmod(mode)
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def _neighbours(root: Path, place: Path) -> str:
    """What stands where a file was looked for, to find a mistyped name at once."""
    folder = place.parent
    if not folder.is_dir():
        return f"; there is no folder {folder.relative_to(root)} either"
    names = sorted(entry.name + "/" * entry.is_dir() for entry in folder.iterdir())[:20]
    return f"; beside it: {', '.join(names)}" if names else ""


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
