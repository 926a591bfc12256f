"""What a project needs before its commands can run: installed once by the user's own commands."""

from dataclasses import replace
from pathlib import Path

from controller.commands import Ran, Shell, exported
from controller.core.canonical import JsonObject, digest, digest_bytes
from controller.core.errors import SetupError
from controller.core.observation import bounded
from controller.core.policy import ANYWHERE, Reach, Setup
from controller.folders import fresh
from controller.locks import locked
from controller.repo import Repo

_DONE = "installed"
_SHOWN = 4000  # bytes of a failed command's output


def folder_of(setup: Setup, repo: Repo, base: str, cache: Path) -> Path:
    """Where a set-up installs: one folder for each content of its commands and its sources."""
    found: JsonObject = {path: digest_bytes(repo.file(base, path) or b"") for path in setup.sources}
    what: JsonObject = {"commands": [str(line) for line in setup.commands], "sources": found}
    return cache / f"environment-{digest(what)[:16]}"


def set_up(shell: Shell, repo: Repo, base: str, setup: Setup, folder: Path) -> bool:
    """Install into the folder, unless that has been done. True: it has been done now.

    Raises SetupError with the output when a command fails; then it is begun anew next time.
    """
    done = folder.with_name(f"{folder.name}.{_DONE}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f"{folder.name}.lock"), setup.timeout * len(setup.commands)):
        if done.exists():
            return False
        fresh(folder, shell.sandbox.user)
        others = tuple(mount for mount in shell.tools.mounts
                       if folder not in (mount.source, *mount.source.parents))
        patient = replace(
            shell, tools=replace(shell.tools, mounts=others), policy=replace(
                shell.policy, timeout=setup.timeout, max_timeout=setup.timeout,
                idle=setup.timeout, environment=replace(shell.policy.environment, passed=())))
        reach = Reach((ANYWHERE,), (str(folder),), setup.variables)
        with exported(repo, patient, base, "setup") as (inner, export):
            for line in setup.commands:
                ran = inner.run(line, export, reach=reach)
                if ran.exit != 0:
                    raise SetupError(_told(str(line), ran))
        done.touch()
    return True


def _told(line: str, ran: Ran) -> str:
    return (f"the set-up command of policy.yaml failed: {line}: {ran.ending}\n"
            f"{bounded(ran.output.rstrip(), _SHOWN)}")
