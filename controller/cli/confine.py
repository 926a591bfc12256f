"""The shell of a run: its sandbox, its tools, and what of the user's environment it passes on."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from controller.cli.house import House
from controller.cli.show import talk
from controller.commands import Shell
from controller.core.canonical import JsonObject, digest, entries, texts
from controller.core.contract import CommandCheck
from controller.core.errors import SetupError
from controller.core.head import Launch
from controller.core.policy import SETUP, Environment, Policy
from controller.core.redact import Redactor, secret_values
from controller.core.rules import Rules
from controller.core.tier import Tier
from controller.documents import of_documents
from controller.environment import folder_of, set_up
from controller.repo import Repo
from controller.sandbox.choice import Sandbox, choose
from controller.sandbox.profile import Bounds
from controller.sandbox.toolchain import Toolchain, toolchain


def ready(house: House, launch: Launch, asked: Tier | None, waiting: Callable[[str], None], *,
          silent: bool = False) -> Sandbox:
    """The sandbox for a run's commands, tried, with what they need installed.

    Says what is weak about it unless `silent`. Raises NoSandbox, or SetupError when the set-up
    fails.
    """
    policy = of_documents(launch.documents).rules.policy
    waiting("trying the sandbox")
    bounds = Bounds(policy.processes, policy.data_bytes, policy.file_bytes)
    sandbox = choose(house.cache / f"trial-{os.getpid()}", asked, bounds)
    if sandbox.tier is not Tier.BUBBLEWRAP and not silent:
        talk(f"note: commands run in tier {sandbox.tier}, {sandbox.word}: {sandbox.note}")
    waiting("setting up the environment")
    shell = shell_of(house, launch, policy, sandbox, 0)
    for place in () if silent else _out_of_reach(shell):
        talk(f"note: in tier 2, user {sandbox.user} can't reach {place}: a folder above it is shut"
             " to others, so what is in it is not found")
    _install(house, launch, shell)
    return sandbox


def shell_of(house: House, launch: Launch, policy: Policy, sandbox: Sandbox, number: int) -> Shell:
    """The shell for the commands in one of a run's worktrees."""
    place, repo = house.place, house.bare()
    setup = policy.environment.setup
    installed = folder_of(setup, repo, launch.base, place.settings.cache) if setup else None
    here = _here(policy, house, installed)
    listed, tools = here.environment, _tools(house, launch, here, installed)
    variables = place.settings.variables
    token = str(entries(entries(launch.documents["config"]).get("forge")).get("token") or "")
    names = {*listed.passed, *_of_models(entries(launch.documents["config"])),
             *(setup.variables if setup else ()), token.removeprefix("$"),
             *(name for probe in here.probes for name in probe.reach.variables),
             *(name for item in here.external for name in item.reach.variables)}
    held = secret_values(
        [*place.settings.keys.values(), *(variables[name] for name in names if name in variables)],
        [text for _, text in listed.variables])
    canary = f"canary-{digest({'run': launch.run, 'at': launch.at.isoformat()})[:24]}"
    return Shell(here, house.scratch(number), house.mark, sandbox, tools, variables,
                 Redactor(held, canary))


def _of_models(config: JsonObject) -> Iterator[str]:
    """The variables that model interfaces take keys and more from."""
    for model in (config.get("model"), *entries(config.get("models")).values()):
        yield str(entries(model).get("key") or "").removeprefix("$")
        yield from texts(entries(model).get("variables"))


def _tracked(repo: Repo, base: str, folder: Path, root: Path) -> bool:
    """Whether a folder is part of the repository itself: then a command finds the worktree's, and
    nothing of the host's is mounted for it.
    """
    return folder.is_relative_to(root) and folder != root and repo.entry(
        base, str(folder.relative_to(root))) is not None


def _tools(house: House, launch: Launch, here: Policy, installed: Path | None) -> Toolchain:
    """What commands find of the host. Raises SetupError for what is not there.

    A folder on PATH that is part of the repository is the worktree's: nothing is mounted for it.
    """
    place, repo = house.place, house.bare()
    folders = tuple(map(Path, here.environment.path))
    needed = tuple(map(Path, here.environment.mounts))
    for wanted in (*needed, *(Path(name) for item in here.external for name in item.reach.writes)):
        if not wanted.exists():
            raise SetupError(f"policy.yaml: there is no {wanted}, which commands are to find")
    outside = [folder for folder in folders
               if not _tracked(repo, launch.base, folder, place.root)]
    found = toolchain(outside, needed, place.root, installed, (place.settings.home, place.root))
    return replace(found, path=folders)


def _out_of_reach(shell: Shell) -> list[Path]:
    """What is to be found, and lies where the user that commands run as can't come in tier 2."""
    if shell.sandbox.tier is not Tier.LANDLOCK or shell.sandbox.user is None:
        return []
    return [mount.source for mount in shell.tools.mounts
            if not all(folder.stat().st_mode & 0o001 for folder in mount.source.parents)]


def tests_of(rules: Rules) -> frozenset[str]:
    """The command lines that the contract checks criteria with."""
    return frozenset(str(criterion.check.command) for criterion in rules.contract.success_criteria
                     if isinstance(criterion.check, CommandCheck))


def _install(house: House, launch: Launch, shell: Shell) -> None:
    setup, folder = shell.policy.environment.setup, shell.tools.installed
    if setup and folder and set_up(shell, house.bare(), launch.base, setup, folder):
        talk(f"note: the environment was set up in {folder}")


def _here(policy: Policy, house: House, installed: Path | None) -> Policy:
    """The policy with every folder of this machine made absolute: commands run elsewhere."""
    home, root = str(house.place.settings.home), house.place.root

    def absolute(folder: str) -> str:
        first, _, rest = folder.partition("/")
        if first == SETUP and installed is None:
            raise SetupError(f"policy.yaml: {folder} is named, but there is no environment.setup")
        start = {"~": home, SETUP: str(installed)}.get(first)
        return str(root / folder if start is None else Path(start, rest))

    def there(folders: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(absolute, folders))

    listed: Environment = policy.environment
    return replace(
        policy,
        environment=replace(listed, path=there(listed.path), mounts=there(listed.mounts)),
        external=tuple(replace(item, reach=replace(item.reach, writes=there(item.reach.writes)))
                       for item in policy.external))
