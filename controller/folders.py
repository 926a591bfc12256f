"""Folders of ours: removed whatever is in them, made anew, handed over to who works in them."""

import os
from pathlib import Path

from controller.process import SYSTEM_PATH, capture

_DEEP = 3500
"""Bytes of a path: not much beyond, the system takes none."""


def remove(folder: Path) -> None:
    """Remove a folder, whatever the modes, depth and names of what is in it."""
    env = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
    if folder.is_dir() and not folder.is_symlink():
        capture(("chmod", "-R", "u+rwX", "--", str(folder)), cwd=Path("/"), env=env)
    capture(("rm", "-rf", "--", str(folder)), cwd=Path("/"), env=env, timeout=600)


def fresh(folder: Path, owner: int | None = None) -> Path:
    """The folder, empty, and owned by a user (None: us)."""
    if folder.exists() or folder.is_symlink():
        remove(folder)
    folder.mkdir(parents=True)
    hand_over(folder, owner)
    return folder


def hand_over(folder: Path, owner: int | None) -> None:
    """Give a folder and all that is in it to a user (None: nobody, it stays ours), and let nobody
    else come in.

    Files with other names stay whose they are: one may lie elsewhere.
    """
    folder.chmod(0o700)
    if owner is None:
        return
    left = [os.fsencode(folder)]
    os.chown(folder, owner, owner)
    while left:
        for entry in os.scandir(left.pop()):
            about = entry.stat(follow_symlinks=False)
            is_folder = entry.is_dir(follow_symlinks=False)
            if about.st_uid != owner and (is_folder or about.st_nlink == 1):
                os.chown(entry.path, owner, owner, follow_symlinks=False)
            if is_folder and len(entry.path) < _DEEP:
                left.append(entry.path)


def aside_of(folder: Path) -> Path:
    """A place beside a folder that nothing has yet, for what is not to stay and not to be lost."""
    return next(place for number in range(1, 10_000) if not (
        place := folder.with_name(f"{folder.name}.aside-{number}")).exists())
