"""Tier 1: namespaces built by bubblewrap. A file system, processes and a network of its own.

An ordinary user's command gets a user namespace and keeps no capability in it. For root, bwrap
builds the walls with real privileges and setpriv then drops to an unprivileged user before anything
of the command's runs: a user namespace of root's would map files to root's own.
"""

import json
import os
import resource
import select
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from controller.core.errors import WorldError
from controller.sandbox import seccomp
from controller.sandbox.census import threads_of
from controller.sandbox.profile import (
    HOME,
    NEVER_RAN,
    READABLE,
    RESOLVING,
    TMP,
    WORK,
    Confined,
    Network,
    Profile,
)

PROGRAM = "/usr/bin/bwrap"
"""By its absolute path: distributions bind their profile for user namespaces to it."""

_ALONE = ("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
          "--unshare-cgroup-try", "--cap-drop", "ALL")
_DROPPING = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_GONE = 10.0  # seconds that the kernel may take to end a namespace
_LAST = ("prlimit: failed to execute ", "setpriv: failed to execute ",
         "oneshot: can't execute ")


@contextmanager
def confined(profile: Profile, argv: Sequence[str], env: Mapping[str, str]) -> Iterator[Confined]:
    """The command in namespaces of its own. bwrap itself is started with an empty environment:
    what PID 1 was started with can be read inside.
    """
    with ExitStack() as stack:
        status = stack.enter_context(_memory())
        own = {**_own_etc(profile), **{f"{HOME}/{name}": text.encode()
                                       for name, text in profile.planted.items()}}
        files = {name: stack.enter_context(_memory(text)) for name, text in own.items()}
        filter = stack.enter_context(_memory(seccomp.program(sockets=True)))
        line = [PROGRAM, *_ALONE, "--json-status-fd", str(status), "--seccomp", str(filter)]
        line += [word for kind in (_namespaces, _system, _mounts, _mirrored)
                 for word in kind(profile)]
        for name, fd in files.items():
            line += ["--perms", "0644", "--file", str(fd), name]
        line += ["--remount-ro", "/", "--clearenv",
                 "--chdir", WORK if profile.user is None else "/"]
        line += [word for name, value in env.items() for word in ("--setenv", name, value)]
        line += ["--", *_dropped(profile), *_bounded(profile), "--", *argv]
        yield Confined(line, {}, Path("/"), (status, filter, *files.values()),
                       lambda: _wait(status), lambda exit, output: _fault(status, exit, output))


def _namespaces(profile: Profile) -> Iterator[str]:
    if not profile.tty:
        yield "--new-session"
    if profile.network is not Network.OPEN:
        yield "--unshare-net"
    if profile.user is None:
        yield from ("--unshare-user", "--disable-userns")
    for name in _DROPPING if profile.user is not None else ():
        yield from ("--cap-add", name)


def _system(profile: Profile) -> Iterator[str]:
    """Programs and libraries as links or read-only, and what a system has that nobody owns."""
    more = RESOLVING if profile.network is Network.OPEN else ()
    yield from _folders(["/etc", "/home"])
    for name in (*READABLE, *more):
        place = Path(name)
        if place.is_symlink() and place.parent == Path("/"):
            yield from ("--symlink", str(place.readlink()), name)
        elif place.exists():
            yield from ("--ro-bind", os.path.realpath(place), name)
    size = str(profile.bounds.temporary)
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
    for folder in (TMP, HOME, "/dev/shm"):  # noqa: S108  (of the command's own)
        yield from ("--perms", "1777", "--size", size, "--tmpfs", folder)
    yield from ("--bind", str(profile.work), WORK)


def _mounts(profile: Profile) -> Iterator[str]:
    """Outer folders first: what is mounted later hides what is below it."""
    mounts = [mount for mount in sorted(profile.mounts, key=lambda mount: mount.at)
              if not _below(mount.at, READABLE)]
    tops = [mount.at for mount in mounts] + ([f"{profile.mirror}/x"] if profile.mirror else [])
    yield from _folders({str(folder) for top in tops for folder in Path(top).parents}
                        - {"/", TMP, "/etc", "/home"})
    for mount in mounts:
        yield from ("--bind" if mount.writable else "--ro-bind", str(mount.source), mount.at)


def _folders(places: Iterable[str]) -> Iterator[str]:
    """Folders that others may enter too; bwrap would leave those that it makes on the way shut."""
    for place in sorted(places):
        yield from ("--perms", "0755", "--dir", place)


def _mirrored(profile: Profile) -> Iterator[str]:
    """The worktree where the user's checkout is, link by link: an environment that was installed
    from the checkout finds the run's files there.
    """
    top = profile.mirror
    if top is None or _below(str(top), (*READABLE, HOME, WORK)):
        return
    taken = [mount.at for mount in profile.mounts]
    if _below(str(top), taken):
        return
    for name in sorted(entry.name for entry in profile.work.iterdir()):
        at = f"{top}/{name}"
        if not any(other == at or other.startswith(f"{at}/") for other in taken):
            yield from ("--symlink", f"{WORK}/{name}", at)


def _below(place: str, folders: Sequence[str]) -> bool:
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def _own_etc(profile: Profile) -> dict[str, bytes]:
    """Who the command is, and how names are resolved where there is no network."""
    who = os.getuid() if profile.user is None else profile.user
    group = os.getgid() if profile.user is None else profile.user
    found = {"/etc/passwd": f"oneshot:x:{who}:{group}::{HOME}:/bin/sh\n".encode(),
             "/etc/group": f"oneshot:x:{group}:\n".encode()}
    if profile.network is not Network.OPEN:
        found |= {"/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
                  "/etc/nsswitch.conf": b"hosts: files\n"}
    return found


def _dropped(profile: Profile) -> tuple[str, ...]:
    if profile.user is None:
        return ()
    return ("/usr/bin/setpriv", f"--reuid={profile.user}", f"--regid={profile.user}",
            "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--",
            "/usr/bin/env", f"--chdir={WORK}")  # only its user may enter it


def _bounded(profile: Profile) -> tuple[str, ...]:
    """Set inside: in a user namespace of its own nobody else's processes count. Data, not address
    space, which some programs reserve without using it.
    """
    bounds = profile.bounds
    others = 0 if profile.user is None else threads_of(profile.user)
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = others + bounds.processes
    processes = processes if hard == resource.RLIM_INFINITY else min(processes, hard)
    return ("/usr/bin/prlimit", f"--nproc={processes}", f"--data={bounds.data}",
            f"--fsize={bounds.file}", "--core=0")


@contextmanager
def _memory(data: bytes = b"") -> Iterator[int]:
    """A file in memory that holds `data`, for a child to read or write."""
    fd = os.memfd_create("oneshot")
    try:
        os.pwrite(fd, data, 0)
        yield fd
    finally:
        os.close(fd)


def _wait(status: int) -> None:
    """Come back when the namespace is gone: its first process is gone only after all others."""
    with suppress(OSError, KeyError):
        first = os.pidfd_open(_told(status)["child-pid"])
        try:
            select.select([first], [], [], _GONE)
        finally:
            os.close(first)


def _fault(status: int, exit: int | None, output: bytes) -> str:
    if exit is not None and exit < 0:
        return ""  # somebody has killed bwrap, and with it whatever ran
    if "exit-code" not in _told(status):
        words = output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise WorldError(f"the sandbox could not be built: {words}; `oneshot doctor` looks at it")
    if exit not in NEVER_RAN:
        return ""
    return next((output.decode("utf-8", "replace").strip().removeprefix(start)
                 for start in _LAST if output.startswith(start.encode())), "")


def _told(status: int) -> dict[str, int]:
    """What bwrap has said so far: a JSON object a line."""
    found: dict[str, int] = {}
    for line in os.pread(status, 4096, 0).decode().splitlines():
        with suppress(ValueError):
            found |= json.loads(line)
    return found
