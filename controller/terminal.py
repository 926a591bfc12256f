"""A terminal for a child that insists on one. Nobody types into it."""

import fcntl
import os
import pty
import struct
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIZE = struct.pack("HHHH", 24, 80, 0, 0)  # struct winsize: rows, columns
_LOOK = 0.1  # seconds
_LAST = 2.0  # seconds for what is still in the terminal when the child has ended


@contextmanager
def terminal(written: Path) -> Iterator[int]:
    """The child's side of a terminal; what is shown on the other is written to a file.

    The caller closes the child's side once the child has it.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, _SIZE)
    over = threading.Event()
    reader = threading.Thread(target=_read, args=(ours, written, over), daemon=True)
    reader.start()
    try:
        yield theirs
    finally:
        over.set()
        reader.join(_LAST)
        os.close(ours)


def _read(ours: int, written: Path, over: threading.Event) -> None:
    from pexpect import EOF, TIMEOUT
    from pexpect.fdpexpect import fdspawn

    with written.open("r+b" if written.exists() else "wb") as file:
        shown = fdspawn(ours, logfile=file, maxread=65536, timeout=None)
        while shown.expect([EOF, TIMEOUT], timeout=_LOOK, searchwindowsize=1):
            shown.buffer = shown.string_type()  # it is in the file
            if over.is_set():
                break
