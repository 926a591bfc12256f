"""Show files, with line numbers."""

from pathlib import Path

from controller.actions.paths import read_bytes
from controller.actions.workplace import CannotPerform
from controller.core.action import FileRange, Read
from controller.core.observation import LIMIT


def read(root: Path, action: Read) -> str:
    """Every file asked for, or why not, in equal shares of one observation."""
    share = (LIMIT - 400) // len(action.files)
    return "\n\n".join(_shown(root, wanted, share) for wanted in action.files)


def _shown(root: Path, wanted: FileRange, share: int) -> str:
    try:
        data, _ = read_bytes(root, wanted.path)
    except CannotPerform as why:
        return str(why)
    if b"\0" in data:
        return f"{wanted.path} is binary, {len(data)} bytes"
    lines = _lines(data)
    last = min(wanted.last or len(lines), len(lines))
    chosen = _fitting(lines[wanted.first - 1:last], wanted.first, share)
    if not chosen:
        return f"{wanted.path} has {len(lines)} lines; none from {wanted.first} to {last}"
    end = wanted.first + len(chosen) - 1
    more = f"; read on from {end + 1}" if end < last else ""
    title = f"{wanted.path}, lines {wanted.first} to {end} of {len(lines)}{more}"
    return "\n".join([title, *chosen])


def _lines(data: bytes) -> list[str]:
    """Lines as editors and grep count them: a line feed ends one, and nothing else does."""
    lines = data.decode("utf-8", "replace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _fitting(lines: list[str], first: int, share: int) -> list[str]:
    chosen: list[str] = []
    size = 0
    for number, line in enumerate(lines, first):
        numbered = f"{number}| {line}"
        size += len(numbered.encode()) + 1
        if size > share and chosen:
            break
        chosen.append(numbered if size <= share else numbered[:share // 4] + " […]")
    return chosen
