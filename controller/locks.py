"""Locks between processes: held by a descriptor, so that they end with whoever has it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.core.errors import WorldError

_LOOK = 0.02  # seconds between two tries


@contextmanager
def locked(place: Path, seconds: float = 120.0) -> Iterator[int]:
    """Hold the lock of a file (flock); yields its descriptor, for children to inherit.

    A child that outlives us keeps the lock. Raises WorldError when nobody lets go of it in time.
    """
    lock, until = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), time.monotonic()
    try:
        while not _taken(lock):
            if time.monotonic() > until + seconds:
                raise WorldError(f"{place} stays locked: another process is at work with it; "
                                 "wait for it or end it")
            time.sleep(_LOOK)
        yield lock
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
