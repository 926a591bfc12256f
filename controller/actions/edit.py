"""Change files, all or none: worked out in memory first, then written."""

from collections.abc import Iterable
from pathlib import Path

from controller.actions.paths import locate, read_bytes, write_bytes
from controller.actions.workplace import CannotPerform
from controller.core.action import Change, Delete, Move, Replace, Write

Files = dict[str, bytes | None]
"""path -> what the file will hold; None when it will be gone."""


def edit(root: Path, changes: Iterable[Change]) -> str:
    """Apply the changes in order. Raises CannotPerform when one can't be; the caller restores."""
    after: Files = {}
    for change in changes:
        _work_out(root, change, after)
    told = [_write(root, path, data) for path, data in after.items()]
    return "\n".join(told)


def _work_out(root: Path, change: Change, after: Files) -> None:
    match change:
        case Replace(path, old, new):
            after[path] = _replaced(path, _content(root, path, after), old, new)
        case Write(path, content):
            after[path] = content.encode()
        case Delete(path):
            _content(root, path, after)
            after[path] = None
        case Move(path, to):
            if after.get(to) is not None or (to not in after and _there(root, to)):
                raise CannotPerform(f"there is something at {to} already")
            after[to], after[path] = _content(root, path, after), None


def _content(root: Path, path: str, after: Files) -> bytes:
    if path not in after:
        return read_bytes(root, path)
    data = after[path]
    if data is None:
        raise CannotPerform(f"{path} is gone by an earlier change of the same edit")
    return data


def _there(root: Path, path: str) -> bool:
    place = locate(root, path)
    return place.exists() or place.is_symlink()


def _replaced(path: str, data: bytes, old: str, new: str) -> bytes:
    """`data` with the one `old` replaced; line endings are the file's own."""
    before, by = old.encode(), new.encode()
    if b"\r\n" in data and before not in data:
        before, by = _with_crlf(before), _with_crlf(by)
    times = data.count(before)
    if times != 1:
        raise CannotPerform(f"{path}: expected `old` exactly once, found it {times} times; "
                            + ("add lines around it" if times else _hint(data, old)))
    return data.replace(before, by)


def _with_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _hint(data: bytes, old: str) -> str:
    """Where the text stands but for its white space, if it does."""
    lines = data.decode("utf-8", "replace").splitlines()
    wanted = [line.split() for line in old.strip().splitlines()]
    for number in range(len(lines)):
        if wanted and [line.split() for line in lines[number:number + len(wanted)]] == wanted:
            return f"with other white space it stands at line {number + 1}: copy it exactly"
    first = old.strip().splitlines()[0].strip() if old.strip() else ""
    near = [n for n, line in enumerate(lines, 1) if first and first in line][:3]
    return (f"its first line stands at {', '.join(map(str, near))}: read the file there"
            if near else "read the file and copy the text exactly")


def _write(root: Path, path: str, data: bytes | None) -> str:
    place = locate(root, path)
    if data is None:
        place.unlink(missing_ok=True)  # a file that only this edit knew was never there
        return f"removed {path}"
    known = place.exists()
    write_bytes(root, path, data)
    return f"{'changed' if known else 'created'} {path} ({len(data)} bytes)"
