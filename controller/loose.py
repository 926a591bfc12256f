"""A ref read from its file, without a git: where it lies is part of Git's format.

gitrepository-layout(5): a loose ref is a file, and wins over its line in `packed-refs`.
"""

import re
from pathlib import Path

_UNDER_WAY = {"MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply": "rebase",
              "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "BISECT_LOG": "bisection"}

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def read_ref(git_dir: Path, name: str) -> str | None:
    """The id that a branch or tag holds; empty when there is none; None when only git can tell: it
    points to another, or refs are kept in another way.
    """
    try:
        common = _common(git_dir)
        if (common / "reftable").exists():
            return None
        loose = _read(common / name)
        if loose is not None:
            found = loose.strip()
            return found.decode() if _ID.fullmatch(found) else None
        packed = _read(common / "packed-refs") or b""
    except OSError:
        return None
    at = packed.find(b" " + name.encode("utf-8", "surrogateescape") + b"\n")
    return packed[packed.rfind(b"\n", 0, at) + 1:at].decode() if at > 0 else ""


def head_id(git_dir: Path) -> str | None:
    """The Git commit that HEAD of a repository leads to, as `read_ref` has it."""
    try:
        found = (_read(git_dir / "HEAD") or b"").decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
    if found.startswith("ref: "):
        return read_ref(git_dir, found.removeprefix("ref: "))
    return found if _ID.fullmatch(found.encode("utf-8", "surrogateescape")) else None


def under_way(git_dir: Path) -> str:
    """The merge, rebase, pick or bisection that is under way in a checkout; empty when none is."""
    return next((what for name, what in _UNDER_WAY.items() if (git_dir / name).exists()), "")


def _common(git_dir: Path) -> Path:
    """The folder that all worktrees of a repository share."""
    pointer = _read(git_dir / "commondir")
    return (git_dir / pointer.decode().strip()).resolve() if pointer else git_dir


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
