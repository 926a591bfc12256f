"""See denials before the first action: a sandbox that is there in name only must not be used."""

import json
import os
import secrets
import socket
import sys
from dataclasses import replace
from pathlib import Path

from controller.core.errors import MachineFault, WorldError
from controller.core.tier import Tier
from controller.folders import fresh, remove
from controller.process import machine_fault, supervise
from controller.sandbox.profile import Profile
from controller.sandbox.toolchain import interpreter
from controller.sandbox.walls import confined
from controller.watching import Ended, Job

_SECONDS = 30.0
_GIVEN = ("HOME", "TMPDIR", "PWD", "LC_CTYPE")

_PROBE = """\
import json, os, signal, socket, sys
outside, port, left = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def done(act):
    try:
        act()
    except OSError:
        return False
    return True
def write(path):
    with open(path, "w") as file:
        file.write("seen")
print(json.dumps({
    "inside": done(lambda: write("written")), "outside": done(lambda: write(outside + "/written")),
    "network": done(lambda: socket.create_connection(("127.0.0.1", port), 2).close()),
    "environment": sorted(os.environ), "home": os.listdir(os.environ["HOME"]),
    "user": os.getuid(), "privileges": done(lambda: os.chroot("."))}))
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    while True:
        signal.pause()
os._exit(0)
"""


def preflight(tier: Tier, profile: Profile) -> str:
    """Why the walls of a tier don't stand here, in words; empty when every denial was seen.

    `profile.work` is a folder to try them in; it is made and removed. Raises MachineFault when the
    machine's is the fault.
    """
    place = profile.work.parent
    remove(place)
    try:
        outside = place / "outside"
        for folder in (profile.work, profile.home, profile.tmp, outside):
            fresh(folder, profile.user)
        return _tried(tier, profile, outside)
    except MachineFault:
        raise
    except (OSError, WorldError, ValueError) as fault:
        if isinstance(fault, OSError) and (broken := machine_fault(fault)):
            raise broken from fault  # a full disk is no reason for weaker walls
        return str(fault)
    finally:
        remove(place)


def _tried(tier: Tier, profile: Profile, outside: Path) -> str:
    said = profile.work.parent / "said"
    env = {"PROBE": secrets.token_hex(8)}
    python = _python(tier, profile)
    mounted = replace(profile, mounts=tuple(interpreter(python)))
    told, tell = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as server, os.fdopen(told, "rb") as left:
        program = [str(python), "-I", "-S", "-c", _PROBE, str(outside),
                   str(server.getsockname()[1]), str(tell)]
        try:
            with confined(tier, mounted, program, env) as walls:
                result = supervise(Job(walls.argv, walls.cwd, walls.env, said, timeout=_SECONDS,
                                       inherited=(*walls.fds, tell), gone=walls.gone))
                output = said.read_bytes()
                if result.ended is not Ended.EXITED or walls.fault(result.exit, output) or (
                        result.exit):
                    return output.decode("utf-8", "replace").strip() or result.fault
        finally:
            os.close(tell)
        os.set_blocking(left.fileno(), False)
        survivors = left.read() is None  # no end of file: somebody still has the other end
    return _judged(json.loads(output), profile, env, survivors=survivors)


def _python(tier: Tier, profile: Profile) -> Path:
    """Our own Python, or the system's where the user that commands run as can't reach ours."""
    ours = Path(os.path.realpath(sys.executable))
    shut = any(not folder.stat().st_mode & 0o001 for folder in ours.parents)
    if tier is Tier.LANDLOCK and profile.user is not None and shut:
        return Path(os.path.realpath("/usr/bin/python3"))
    return ours


def _judged(seen: dict[str, object], profile: Profile, env: dict[str, str], *,
            survivors: bool) -> str:
    user = os.getuid() if profile.user is None else profile.user
    faults = [words for bad, words in (
        (not seen["inside"], "its own worktree could not be written"),
        (seen["outside"], "a file outside the worktree was written"),
        (seen["network"], "a server of this machine was reached"),
        (seen["home"] != [], "its home folder was not empty"),
        (not {*map(str, _list(seen["environment"]))} <= {*env, *_GIVEN},
         "it found variables of our environment"),
        (seen["user"] != user, f"it ran as user {seen['user']}, expected {user}"),
        (seen["user"] == 0, "it ran as root"),
        (seen["privileges"], "it could change its root folder"),
        (survivors, "a process that it left behind went on running")) if bad]
    return "; ".join(faults)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
