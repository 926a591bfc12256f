"""Folders of ours, removed whatever is in them."""

import os
import shutil
from contextlib import suppress
from pathlib import Path


def remove(folder: Path) -> None:
    """Remove a folder, whatever the modes of the folders in it."""
    if folder.is_symlink():
        folder.unlink()
        return
    _open(folder)
    for place, names, _ in os.walk(folder):
        for name in names:
            _open(Path(place, name))
    shutil.rmtree(folder, ignore_errors=True)


def _open(folder: Path) -> None:
    with suppress(OSError):
        if not folder.is_symlink():
            folder.chmod(0o700)
