"""Which sandbox the commands of a run get, and as whom they run."""

import os
import pwd
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from controller.core.errors import NoSandbox
from controller.core.tier import Tier
from controller.sandbox import bubblewrap
from controller.sandbox.preflight import preflight
from controller.sandbox.profile import Bounds, Profile

USER = "oneshot"
"""The system user that actions of a controller that runs as root run as, when there is one."""

_NUMBER = 61_999
"""Its number where there is no such user: of the range that nobody is given for good (systemd's
DynamicUser).
"""

_REMEDY = """\
No sandbox can be built here, so nothing was run.
  bubblewrap: {bubblewrap}
  Landlock:   {landlock}
What to do, one of:
  - install bubblewrap:  apt install bubblewrap   (or dnf, pacman, apk)
  - Ubuntu 24.04 and later: its AppArmor profile:  apt install apparmor-profiles && \
aa-enforce bwrap-userns-restrict
  - in a container: allow user namespaces, or a kernel from 6.2 on with Landlock
  - you run it in a container or virtual machine of its own:  --sandbox external
`oneshot doctor` looks again."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A tier that was seen to work here, or (None) no leave to run anything. `user` is who commands
    run as; None: ourselves. `note` says why it is not a better one.
    """

    tier: Tier | None
    user: int | None = None
    bounds: Bounds = field(default_factory=Bounds)
    note: str = ""

    @property
    def word(self) -> str:
        """The tier in a word, for people."""
        return self.tier.word if self.tier is not None else "no commands"


NO_COMMANDS = Sandbox(None)
"""For what moves files and runs nothing."""


def choose(folder: Path, asked: Tier | None, bounds: Bounds) -> Sandbox:
    """The best sandbox whose denials were seen, or the one a person has asked for by a flag.

    `folder` is a place to try it in. Raises NoSandbox with what to do; there is no way on without
    one that nobody has asked for.
    """
    user = unprivileged()
    if asked is Tier.NONE:
        return Sandbox(asked, user, bounds, "as you asked")
    if asked is Tier.EXTERNAL:  # nothing of it is promised; what is seen is told
        seen = preflight(asked, _trial(folder, user, bounds))
        return Sandbox(asked, user, bounds, f"as you asked; seen from inside: {seen or 'all good'}")
    faults: dict[Tier, str] = {}
    for tier, look in _TRIED.items():
        if asked in (tier, None):
            faults[tier] = look() or preflight(tier, _trial(folder, user, bounds))
            if not faults[tier]:
                why = "as you asked" if asked else faults.get(Tier.BUBBLEWRAP, "")
                return Sandbox(tier, user, bounds, why)
    raise NoSandbox(_REMEDY.format(
        bubblewrap=faults.get(Tier.BUBBLEWRAP, "not tried"),
        landlock=faults.get(Tier.LANDLOCK, "not tried")))


def unprivileged() -> int | None:
    """Who commands run as: as root an id that owns nothing but worktrees, else (None) ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(USER).pw_uid
    except KeyError:
        return _NUMBER


def _trial(folder: Path, user: int | None, bounds: Bounds) -> Profile:
    return Profile(folder / "work", folder / "home", folder / "tmp", user=user, bounds=bounds)


def _no_bubblewrap() -> str:
    return "" if os.access(bubblewrap.PROGRAM, os.X_OK) else f"{bubblewrap.PROGRAM} is not there"


def _no_landlock() -> str:
    from controller.sandbox import landlock

    found = landlock.version()
    return "" if found >= landlock.NEEDED else (
        f"the kernel has version {found} of it; {landlock.NEEDED} is needed (Linux 6.2)")


_TRIED: dict[Tier, Callable[[], str]] = {
    Tier.BUBBLEWRAP: _no_bubblewrap, Tier.LANDLOCK: _no_landlock}
"""The tiers in the order they are tried in, each with what to look for first."""
