"""What a project's tools need of the host: virtual environments, node_modules, folders on PATH."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.sandbox.profile import WORK, Mount


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What commands find of the host: folders before the system's on PATH, and what is mounted,
    read-only. `checkout` is the user's, whose files they find to be those of the worktree;
    `installed` is the folder that set-up commands have installed into.
    """

    path: tuple[Path, ...] = ()
    mounts: tuple[Mount, ...] = ()
    checkout: Path | None = None
    installed: Path | None = None


def toolchain(path: Iterable[Path], mounts: Iterable[Path], checkout: Path | None,
              installed: Path | None = None) -> Toolchain:
    """The tools that these folders hold, with what each kind of them needs besides.

    A virtual environment needs the Python it was made from; node_modules is found by climbing, so
    it stands beside the worktree.
    """
    path = tuple(path)
    places = (*mounts, *path, *([installed] if installed else []))
    found = [mount for place in places for mount in _needed(place) if place.exists()]
    by_place = {mount.at: mount for mount in found if not _in_work(mount.at)}
    return Toolchain(path, tuple(by_place.values()), checkout, installed)


def _needed(folder: Path) -> Iterator[Mount]:
    above = folder.parent
    if (above / "pyvenv.cfg").is_file():
        yield from _same(above)
        base = Path(os.path.realpath(folder / "python")).parent.parent
        yield from _same(base)
    elif folder.name == ".bin" and above.name == "node_modules":
        yield from _same(above)
        yield Mount(Path(os.path.realpath(above)), "/node_modules")
    else:
        yield from _same(folder)


def _same(place: Path) -> Iterator[Mount]:
    """Where it is, and where a link on the way leads to."""
    real = Path(os.path.realpath(place))
    yield Mount(real, str(place))
    yield Mount(real, str(real))


def _in_work(place: str) -> bool:
    return place == "/" or place == WORK or place.startswith(f"{WORK}/")
