"""Who is at work on this machine: ourselves, the holders of leases, what the dead left running."""

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from controller.core.errors import WorldError
from controller.core.head import Owner
from controller.process import MARK

_ROUNDS = 100  # looks for marked processes that go on starting others
_GRACE = 2.0  # seconds that a killed process may take to be gone


def this_process() -> Owner:
    """Ourselves, as the holder of a lease."""
    return Owner(os.uname().nodename, os.getpid(), _mark(os.getpid()))


def alive(owner: Owner) -> bool | None:
    """Whether the owner is still at work; None where we can't look: on another host, or among
    other processes than ours (a container).
    """
    if owner.host != os.uname().nodename:
        return None
    boot, _, rest = owner.mark.partition("/")
    if boot != _boot():
        return False
    if rest.partition("/")[0] != _namespace():
        return None
    ended = _stat(owner.pid)[:1] in (["Z"], ["X"])  # and nobody has waited for it yet
    return not ended and owner.mark == _mark(owner.pid)


def marked(mark: str) -> tuple[int, ...]:
    """The ids of the processes that jobs under this mark have left, their descendants included."""
    wanted = f"{MARK}={mark}".encode()
    return tuple(int(entry.name) for entry in os.scandir("/proc")
                 if entry.name.isdigit() and int(entry.name) != os.getpid()
                 and wanted in _environment(int(entry.name)))


def end_marked(mark: str) -> None:
    """End whatever a dead controller left running under this mark.

    Raises WorldError when it goes on starting processes faster than they can be ended.
    """
    for _ in range(_ROUNDS):
        if not [pid for pid in marked(mark) if _killed(pid, mark)]:
            return
    raise WorldError("processes of an earlier controller can't be ended: they start others")


def _killed(pid: int, mark: str) -> bool:
    """End one marked process. False: it is gone, or its number is somebody else's now."""
    with suppress(OSError):
        pidfd = os.pidfd_open(pid)
        try:
            if f"{MARK}={mark}".encode() in _environment(pid):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                select.select([pidfd], [], [], _GRACE)
                return True
        finally:
            os.close(pidfd)
    return False


def _environment(pid: int) -> list[bytes]:
    """What a process was started with; nothing for one that is over, or that we may not see."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (field 22 of proc(5) stat)."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _stat(pid: int) -> list[str]:
    """The fields of proc(5) stat from the third, the state, on. Empty: there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _mark(pid: int) -> str:
    return f"{_boot()}/{_namespace()}/{_start_time(pid)}"


def _boot() -> str:
    """The id of this boot of the machine; empty when it can't be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    """The process namespace that our numbers are of (pid_namespaces(7))."""
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""
