"""Run a command of a model's or a contract's: no input, a clean environment, an end."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.core.action import Command
from controller.core.contract import Policy
from controller.process import SYSTEM_PATH, Ended, Job, Result, supervise

KEY = "ONESHOT_KEY"
"""The variable that an external command and its probe find the idempotency key in."""

_KEPT = 4 * 1024 * 1024  # bytes of output that are read back: the first half and the last


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to: a line about its end, its exit code if it ended itself, its output.

    `started` is false when there was nothing to run; then `ending` says why.
    """

    ending: str
    exit: int | None
    output: bytes
    started: bool = True


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands under one policy.

    `scratch` holds their home, temporary folder and output, outside the worktree; `mark` is what
    they are found by when we have died.
    """

    policy: Policy
    scratch: Path
    mark: str

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """What a command finds: nothing of the user's environment but what the policy lists."""
        home, tmp = self.scratch / "home", self.scratch / "tmp"
        for folder in (home, tmp):
            folder.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": ":".join([*self.policy.environment.path, SYSTEM_PATH]),
            "HOME": str(home), "TMPDIR": str(tmp), "LANG": "C.UTF-8", "TERM": "dumb",
            "NO_COLOR": "1", "CI": "1", "PAGER": "cat", "GIT_PAGER": "cat",
            "GIT_TERMINAL_PROMPT": "0", "PIP_NO_INPUT": "1", "DEBIAN_FRONTEND": "noninteractive",
            # A stale .pyc outlives an edit of the same size in the same second.
            "PYTHONDONTWRITEBYTECODE": "1",
            **dict(self.policy.environment.variables), **more,
        }

    def run(self, command: Command, cwd: Path, more: Mapping[str, str] | None = None) -> Ran:
        """Run the command to its end or its limits, with some more variables.

        A command that exits with an error has run: its exit code is what was to be found out.
        """
        written, env = self.scratch / "output", self.environment(more or {})
        result = supervise(Job(
            argv=command.argv, cwd=cwd, env=env, stdout=written,
            timeout=min(command.timeout or self.policy.timeout, self.policy.max_timeout),
            size=self.policy.output_bytes, mark=self.mark))
        if result.ended is Ended.NOT_STARTED:
            return Ran(f"could not be started: {result.fault}; PATH is {env['PATH']}", None, b"",
                       False)
        return Ran(_ending(result), result.exit if result.ended is Ended.EXITED else None,
                   _read_back(written))


def _ending(result: Result) -> str:
    if result.ended is Ended.EXITED:
        code = result.exit or 0
        return f"exit {code}" if code >= 0 else f"killed by signal {-code}"
    return f"stopped by the controller after {result.seconds:.0f} s: it {result.ended.value}"


def _read_back(written: Path) -> bytes:
    size = written.stat().st_size
    with written.open("rb") as file:
        if size <= _KEPT:
            return file.read()
        head = file.read(_KEPT // 2)
        file.seek(size - _KEPT // 2)
        return head + f"\n[… {size - _KEPT} bytes not kept …]\n".encode() + file.read()
