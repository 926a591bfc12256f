"""How many threads a user has now: the kernel's limit of processes counts those of all of them."""

import os
from contextlib import suppress


def threads_of(user: int) -> int:
    """The threads of a user's processes, as far as we can see them."""
    found = 0
    for entry in os.scandir("/proc"):
        with suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                found += sum(1 for _ in os.scandir(f"{entry.path}/task"))
    return found
