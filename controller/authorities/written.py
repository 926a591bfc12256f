"""The files that a command has left, found by a pattern and never behind a link."""

import os
from pathlib import Path

from controller.core.glob import matches
from controller.core.reports import LARGEST


def written(root: Path, pattern: str) -> list[Path]:
    """The regular files below a folder that match a pattern, by name; none of an absurd size."""
    found = []
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            place = Path(folder, name)
            rest = str(place.relative_to(root))
            if matches(rest, (f"/{pattern.removeprefix('./')}",)) and _plain(place):
                found.append(place)
    return sorted(found)


def _plain(place: Path) -> bool:
    return not place.is_symlink() and place.is_file() and place.stat().st_size <= LARGEST
