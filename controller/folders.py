"""Folders of ours, removed whatever is in them."""

from pathlib import Path

from controller.process import SYSTEM_PATH, capture


def remove(folder: Path) -> None:
    """Remove a folder, whatever the modes, depth and names of what is in it."""
    env = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
    if folder.is_dir() and not folder.is_symlink():
        capture(("chmod", "-R", "u+rwX", "--", str(folder)), cwd=Path("/"), env=env)
    capture(("rm", "-rf", "--", str(folder)), cwd=Path("/"), env=env, timeout=600)


def aside_of(folder: Path) -> Path:
    """A place beside a folder that nothing has yet, for what is not to stay and not to be lost."""
    return next(place for number in range(1, 10_000) if not (
        place := folder.with_name(f"{folder.name}.aside-{number}")).exists())
