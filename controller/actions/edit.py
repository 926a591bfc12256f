"""Change files, all or none: worked out in memory first, then written."""

import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from controller.actions.paths import read_bytes, spot, there, write_bytes
from controller.actions.workplace import CannotPerform
from controller.core.action import Change, Delete, Move, Replace, Write


@dataclass(frozen=True, slots=True)
class Content:
    """What a file will hold, and the mode it brings from where it was."""

    data: bytes
    mode: int | None = None


Files = dict[str, Content | None]
"""path -> what will be there; None when nothing will."""


def edit(root: Path, changes: Iterable[Change]) -> str:
    """Apply the changes in order. Raises CannotPerform when one can't be; the caller restores."""
    return "\n".join(_write(root, path, content)
                     for path, content in worked_out(root, changes).items())


def worked_out(root: Path, changes: Iterable[Change]) -> Files:
    """What the changes make of the files, without making it. Raises CannotPerform."""
    after: Files = {}
    for change in changes:
        _work_out(root, change, after)
    return after


def _work_out(root: Path, change: Change, after: Files) -> None:
    match change:
        case Replace(path, old, new):
            content = _content(root, path, after)
            after[path] = replace(content, data=_replaced(path, content.data, old, new))
        case Write(path, text):
            after[path] = Content(text.encode())
        case Delete(path):
            found = there(root, path)
            if found is None or not stat.S_ISLNK(found.st_mode):
                _content(root, path, after)
            after[path] = None
        case Move(path, to):
            if after.get(to) is not None or (to not in after and there(root, to)):
                raise CannotPerform(f"there is something at {to} already")
            after[to], after[path] = _content(root, path, after), None


def _content(root: Path, path: str, after: Files) -> Content:
    if path not in after:
        return Content(*read_bytes(root, path))
    content = after[path]
    if content is None:
        raise CannotPerform(f"{path} is gone by an earlier change of the same edit")
    return content


def _replaced(path: str, data: bytes, old: str, new: str) -> bytes:
    """`data` with the one `old` replaced; line endings are the file's own."""
    before, by = old.encode(), new.encode()
    if b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n"):
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
    lines = data.decode("utf-8", "replace").split("\n")
    wanted = [line.split() for line in old.strip().splitlines()]
    for number in range(len(lines)):
        if wanted and [line.split() for line in lines[number:number + len(wanted)]] == wanted:
            return f"with other white space it stands at line {number + 1}: copy it exactly"
    first = old.strip().splitlines()[0].strip() if old.strip() else ""
    near = [n for n, line in enumerate(lines, 1) if first and first in line][:3]
    return (f"its first line stands at {', '.join(map(str, near))}: read the file there"
            if near else "read the file and copy the text exactly")


def _write(root: Path, path: str, content: Content | None) -> str:
    if content is None:
        with suppress(FileNotFoundError), spot(root, path) as place:  # perhaps only this edit's
            place.remove()
        return f"removed {path}"
    new = write_bytes(root, path, content.data, content.mode)
    return f"{'created' if new else 'changed'} {path} ({len(content.data)} bytes)"
