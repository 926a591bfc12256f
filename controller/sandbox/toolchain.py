"""What a project's tools need of the host: virtual environments, node_modules, folders on PATH."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.core.errors import SetupError
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
              installed: Path | None = None, private: Iterable[Path] = ()) -> Toolchain:
    """The tools that these folders hold, with what each kind of them needs besides.

    A virtual environment needs the Python it was made from; node_modules is found by climbing, so
    it stands beside the worktree. Raises SetupError for what leads out of the checkout by a link,
    and for a folder that a `private` one lies in: a repository can hold such links, too.
    """
    path = tuple(path)
    places = (*mounts, *path, *([installed] if installed else []))
    found = [mount for place in places if place.exists() for mount in _needed(place, checkout)]
    for mount in found:
        for folder in private:
            if mount.source in (folder, *folder.parents):
                raise SetupError(f"environment: {mount.at} leads to {mount.source}, which holds "
                                 f"{folder}; name what is needed of it")
    by_place = {mount.at: mount for mount in found if not _in_work(mount.at)}
    return Toolchain(path, tuple(by_place.values()), checkout, installed)


def interpreter(python: Path) -> Iterator[Mount]:
    """What a Python needs of the folder that it is installed in: programs and libraries."""
    base = Path(os.path.realpath(python)).parent.parent
    for name in ("bin", "lib", "lib64"):
        if (base / name).is_dir():
            yield Mount(base / name, str(base / name))


def _needed(folder: Path, checkout: Path | None) -> Iterator[Mount]:
    above = folder.parent
    if (above / "pyvenv.cfg").is_file():
        yield from _same(above, checkout)
        python = folder / "python"
        base = Path(os.path.realpath(python)).parent.parent
        if python.is_file() and any(base.glob("lib*/python3*")):
            yield from interpreter(python)
    elif folder.name == ".bin" and above.name == "node_modules":
        yield from _same(above, checkout)
        yield Mount(Path(os.path.realpath(above)), "/node_modules")
    else:
        yield from _same(folder, checkout)


def _same(place: Path, checkout: Path | None) -> Iterator[Mount]:
    """Where it is, and where a link on the way leads to."""
    real = Path(os.path.realpath(place))
    if checkout and place.is_relative_to(checkout) and not real.is_relative_to(
            os.path.realpath(checkout)):
        raise SetupError(f"environment: {place} leads out of the repository by a link, to {real}; "
                         "name that folder itself if commands are to find it")
    yield Mount(real, str(place))
    yield Mount(real, str(real))


def _in_work(place: str) -> bool:
    return place == "/" or place == WORK or place.startswith(f"{WORK}/")
