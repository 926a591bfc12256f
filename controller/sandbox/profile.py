"""What one command may reach: the profile that every tier builds its walls from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

WORK = "/workspace"
"""Where a command finds its worktree in tier 1. Nothing is ever mounted below it: an agent could
have put a link there (CVE-2026-87766).
"""

HOME, TMP = "/home/oneshot", "/tmp"  # noqa: S108  (of the command's own, gone with it)
"""Its home and temporary folder in tier 1: empty, and gone with the command."""

NEVER_RAN = (126, 127)
"""What a launcher exits with that could not start its command."""

READABLE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives",
            "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl", "/etc/pki",
            "/etc/ca-certificates", "/etc/localtime")
"""What of the host any command may read: programs, libraries, certificates. No passwd, no hosts."""

RESOLVING = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf",
             "/etc/services")
"""What a command with the open network may read besides."""


class Network(Enum):
    """What of the network a command finds."""

    NONE = "none"  # its own loopback, in tier 1
    PROXY = "proxy"  # besides, a proxy on a port of it that lets listed hosts through
    OPEN = "open"  # a trusted command of the user's


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the host, and where a command finds it."""

    source: Path
    at: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one command may use: processes at once, bytes of data a process, bytes of a file,
    bytes of its temporary folder.
    """

    processes: int = 512
    data: int = 4 * 1024**3
    file: int = 1024**3
    temporary: int = 1024**3


@dataclass(frozen=True, slots=True)
class Profile:
    """The walls around one command. `work` is its worktree, the one thing of ours that it may
    write.

    `home` and `tmp` are empty folders for the tiers that can't make their own. `user` is the id
    that it runs as; None: ours. Entries of `mirror`, a folder of the host, are to it those of its
    worktree, but for what is mounted there. `planted` are files of its home folder: name -> text.
    """

    work: Path
    home: Path
    tmp: Path
    mounts: tuple[Mount, ...] = ()
    network: Network = Network.NONE
    tty: bool = False
    user: int | None = None
    mirror: Path | None = None
    bounds: Bounds = field(default_factory=Bounds)
    planted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Confined:
    """A command with its walls around it, ready to be spawned.

    `fds` are to be inherited. `gone` comes back when nothing that it started is left. `fault` says,
    of its exit code and output, why it never ran, if it never ran.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    fds: tuple[int, ...] = ()
    gone: Callable[[], None] = lambda: None
    fault: Callable[[int | None, bytes], str] = lambda exit, output: ""
