"""The walls of each tier around one command."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from controller.core.errors import WorldError
from controller.core.tier import Tier
from controller.sandbox import bubblewrap, confine
from controller.sandbox.profile import (
    HOME,
    READABLE,
    RESOLVING,
    TMP,
    Confined,
    Network,
    Profile,
)

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_SYSTEM = ("/proc", "/dev/random", "/dev/urandom", "/etc/passwd", "/etc/group", *RESOLVING)


def confined(tier: Tier | None, profile: Profile, argv: Sequence[str],
             env: Mapping[str, str]) -> AbstractContextManager[Confined]:
    """The command behind the walls of a tier, for as long as it runs, with HOME and TMPDIR."""
    if tier is None:
        raise WorldError("BUG: no command may run here")
    if tier is Tier.BUBBLEWRAP:
        return bubblewrap.confined(profile, argv, {**env, "HOME": HOME, "TMPDIR": TMP})
    for name, text in profile.planted.items():
        (profile.home / name).write_text(text)
    found = {**env, "HOME": str(profile.home), "TMPDIR": str(profile.tmp)}
    return _supervised(tier, profile, argv, found)


@contextmanager
def _supervised(tier: Tier, profile: Profile, argv: Sequence[str], env: Mapping[str, str]
                ) -> Iterator[Confined]:
    """Below a supervisor that ends all that it starts; behind walls in tier 2."""
    _link_beside(profile)
    mounts, bounds = profile.mounts, profile.bounds
    writable = (profile.work, profile.home, profile.tmp,
                *(mount.source for mount in mounts if mount.writable))
    readable = [*READABLE, *_SYSTEM, *(str(mount.source) for mount in mounts)]
    status = os.memfd_create("oneshot")
    order = confine.Order(
        argv, readable if tier is Tier.LANDLOCK else None, [*map(str, writable), *_DEVICES],
        profile.network is Network.OPEN, profile.tty, profile.user, bounds.processes, bounds.data,
        bounds.file, os.getpid(), status)
    try:
        yield Confined(order.line(), env, profile.work, (status,),
                       fault=lambda exit, output: _fault(status))
    finally:
        os.close(status)


def _link_beside(profile: Profile) -> None:
    """What tier 1 mounts at the top is a link beside the worktree where nothing can be mounted:
    tools that climb find it there. No agent can write there.
    """
    for mount in profile.mounts:
        if Path(mount.at).parent == Path("/") and Path(mount.at) != mount.source:
            link = profile.work.parent / Path(mount.at).name
            link.unlink(missing_ok=True)
            link.symlink_to(mount.source)


def _fault(status: int) -> str:
    words = os.pread(status, 4096, 0).decode("utf-8", "replace")
    if words.startswith(confine.BROKEN):
        raise WorldError(f"the sandbox could not be built: {words.removeprefix(confine.BROKEN)}")
    return words.removeprefix(confine.FAILED)
