"""Run a command of a model's or a contract's: behind walls, without input, to an end."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from controller.core.action import Command
from controller.core.policy import ANYWHERE, SETUP, Policy, Reach
from controller.core.redact import Redactor
from controller.core.tier import Tier
from controller.folders import fresh, hand_over, remove
from controller.process import SYSTEM_PATH, supervise
from controller.prompts import waits
from controller.repo import Entry, Repo
from controller.sandbox.choice import Sandbox
from controller.sandbox.egress import Egress, serving
from controller.sandbox.profile import Mount, Network, Profile
from controller.sandbox.toolchain import Toolchain
from controller.sandbox.walls import confined
from controller.sandbox.way import Way, through
from controller.watching import Ended, Job, Result

KEY = "ONESHOT_KEY"
"""The variable that an external command and its probe find the idempotency key in."""

_EDGE = 8 * 1024  # bytes on each side of the cut that are not kept either

_SIGNALS = 128  # what a shell or a sandbox adds to the number of the signal that ended a program

_TERMINAL = ("/usr/bin/setsid", "--ctty", "--wait")
"""Makes the terminal that a program gets its own, which /dev/tty leads to."""

_KEPT = 4 * 1024 * 1024  # bytes of output that are read back: the first half and the last

_NOTHING = Reach()

_QUIET = {
    "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "CI": "1", "PAGER": "cat",
    "GIT_PAGER": "cat", "EDITOR": "false", "VISUAL": "false", "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_NOSYSTEM": "1",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1", "npm_config_update_notifier": "false",
    "DEBIAN_FRONTEND": "noninteractive",
    # A stale .pyc outlives an edit of the same size in the same second.
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""What keeps programs from asking, paging, colouring and phoning home."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to: a line about its end, its exit code if it ended itself, its output
    as the redactor lets it go on.

    `started` is false when there was nothing to run; then `ending` says why. `canary`: the output
    had the token that lies where only somebody who gathers secrets looks.
    """

    ending: str
    exit: int | None
    output: str
    started: bool = True
    canary: bool = False

    @property
    def cut_short(self) -> bool:
        """Whether it was ended by a signal or by us: how far it came, nobody has seen."""
        return self.exit is None or self.exit < 0 or self.exit > _SIGNALS


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands under one policy, in one sandbox.

    `scratch` holds their home, temporary folder and output, outside the worktree; `mark` is what
    they are found by when we have died. `passed` are variables of the user's environment; each
    command finds those that the policy gives it.
    """

    policy: Policy
    scratch: Path
    mark: str
    sandbox: Sandbox
    tools: Toolchain = field(default_factory=Toolchain)
    passed: Mapping[str, str] = field(default_factory=dict, repr=False)
    redactor: Redactor = field(default_factory=Redactor)
    egress: Callable[[tuple[str, ...]], Egress] = Egress

    def run(self, command: Command, cwd: Path, more: Mapping[str, str] | None = None,
            reach: Reach = _NOTHING) -> Ran:
        """Run the command to its end or its limits, in a worktree, with some more variables.

        A command that exits with an error has run: its exit code is what was to be found out.
        Raises WorldError when its walls can't be built.
        """
        with self._network(reach) as way:
            given = {**way.variables, **({"TERM": "xterm"} if command.tty else {}), **(more or {})}
            ran = self._ended(command, self._profile(cwd, reach, way, tty=command.tty), way.prefix,
                              self._environment(given, reach))
        if not way.refused:
            return ran
        return replace(ran, output=ran.output + "\nThe network proxy let nothing through to: "
                       + self.redactor.text(", ".join(way.refused)) + "\n")

    def _ended(self, command: Command, profile: Profile, prefix: tuple[str, ...],
               env: dict[str, str]) -> Ran:
        written = _private(self.scratch / "output")
        first = (*_TERMINAL, *prefix) if command.tty else prefix
        with confined(self.sandbox.tier, profile, (*first, *command.argv), env) as walls:
            result = supervise(Job(
                argv=walls.argv, cwd=walls.cwd, env=walls.env, stdout=written,
                timeout=min(command.timeout or self.policy.timeout, self.policy.max_timeout),
                silence=self.policy.idle, size=self.policy.output_bytes, mark=self.mark,
                inherited=walls.fds, gone=walls.gone, tty=command.tty,
                asks=partial(waits, tty=command.tty)))
            if result.ended is Ended.NOT_STARTED:
                return _not_started(result.fault, env)
            output = _read_back(written)
            fault = walls.fault(result.exit, output) if result.ended is Ended.EXITED else ""
        if fault:
            return _not_started(self.redactor.text(fault), env)
        return Ran(_ending(result), result.exit if result.ended is Ended.EXITED else None,
                   self.redactor.clean(output),
                   canary=self.redactor.holds(output.decode("utf-8", "replace")) == "canary")

    @contextmanager
    def _network(self, reach: Reach) -> Iterator[Way]:
        """The way out that a reach allows. Only tier 1 can hold a command to a list of hosts; in
        the others a person has been asked.
        """
        if not reach.hosts:
            yield Way()
        elif reach.hosts == (ANYWHERE,) or self.sandbox.tier is not Tier.BUBBLEWRAP:
            yield Way(Network.OPEN)
        else:
            folder = fresh(self.scratch / "egress", self.sandbox.user)
            egress = self.egress(reach.hosts)
            with serving(egress, folder):
                yield through(folder, egress.refused)

    def _environment(self, more: Mapping[str, str], reach: Reach) -> dict[str, str]:
        """What a command finds: nothing of the user's environment but what the policy lists."""
        path = ":".join([*map(str, self.tools.path), SYSTEM_PATH])
        listed = self.policy.environment
        given = {name: self.passed[name] for name in (*listed.passed, *reach.variables)
                 if name in self.passed}
        env = {"PATH": path, **_QUIET, **dict(listed.variables), **given, **more}
        if self.tools.installed:
            env |= {SETUP.removeprefix("$"): str(self.tools.installed)}
        return env

    def _profile(self, work: Path, reach: Reach, way: Way, *, tty: bool) -> Profile:
        user = self.sandbox.user
        hand_over(work, user)
        return Profile(
            work, fresh(self.scratch / "home", user), fresh(self.scratch / "tmp", user),
            mounts=(*self.tools.mounts, *way.mounts, *(
                Mount(Path(place), place, writable=True) for place in reach.writes)),
            network=way.network, tty=tty,
            user=user, mirror=self.tools.checkout, bounds=self.sandbox.bounds,
            planted={".env": f"API_TOKEN={self.redactor.canary}\n"} if self.redactor.canary else {})


@contextmanager
def exported(repo: Repo, shell: Shell, commit: str, name: str,
             instead: Mapping[str, Entry | None] | None = None) -> Iterator[tuple[Shell, Path]]:
    """A shell and a clean export of one Git commit for it, in a folder of their own, while it
    lasts: nothing that another command has left is there.
    """
    place = shell.scratch / name
    remove(place)
    try:
        repo.export(commit, place / "export", instead)
        yield replace(shell, scratch=place), place / "export"
    finally:
        remove(place)


def _private(place: Path) -> Path:
    """An empty file that nobody else can read: output is raw until the redactor has seen it."""
    place.unlink(missing_ok=True)
    place.touch(0o600, exist_ok=False)
    return place


def _not_started(fault: str, env: Mapping[str, str]) -> Ran:
    return Ran(f"could not be started: {fault}; PATH is {env['PATH']}; what lies elsewhere must be "
               "listed under `environment` in policy.yaml", None, "", False)


def _ending(result: Result) -> str:
    if result.ended is Ended.EXITED:
        code = result.exit or 0
        return f"exit {code}" if code >= 0 else f"killed by signal {-code}"
    why = f": {result.fault}" if result.fault else ""
    return f"stopped by the controller after {result.seconds:.0f} s: it {result.ended.value}{why}"


def _read_back(written: Path) -> bytes:
    """What was written, whole or head and tail; the file is gone then."""
    size = written.stat().st_size
    with written.open("rb") as file:
        written.unlink()
        if size <= _KEPT:
            return file.read()
        head = file.read(_KEPT // 2)
        file.seek(size - _KEPT // 2)
        tail = file.read()
    # What the cut goes through could be half of a secret, which no rule knows.
    return head[:-_EDGE] + f"\n[… {size - _KEPT} bytes not kept …]\n".encode() + tail[_EDGE:]
