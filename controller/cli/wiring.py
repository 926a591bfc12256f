"""The composition root: the only place where ports meet their implementations."""

import shutil
from collections.abc import Callable
from pathlib import Path

from controller.checkout import borrow, create, identity_of
from controller.cli.place import Place
from controller.cli.show import talk
from controller.core.canonical import entries
from controller.core.contract import ModelConfig
from controller.core.errors import ModelUnusable, SetupError
from controller.core.head import Launch, RunId
from controller.core.ports import Model
from controller.core.projection import tree_of
from controller.documents import of_documents
from controller.loop import Controller
from controller.process import alive
from controller.repo import ABSENT, Repo
from controller.settings import Settings
from controller.store.journal import Journal
from controller.store.memory import MemoryTables
from controller.store.projections import Projections

Follow = Callable[[RunId], None]


def build(place: Place, launch: Launch, model: Model, follow: Follow = lambda run: None,
          *, keep: bool = True) -> Controller:
    """The controller of one run, with its repository and worktree in place.

    Without `keep` it has a record in memory, which starts empty and ends with it.
    """
    from controller.actions.hands import Hands
    from controller.actions.workplace import Workplace
    from controller.authorities import Authorities
    from controller.authorities.ci import LocalCI
    from controller.authorities.git import Git
    from controller.commands import Shell
    from controller.snapshots import Snapshots

    project, home = of_documents(launch.documents), place.settings.cache / launch.run
    scratch = home / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    user = place.user
    snapshots = Snapshots(_worktree(place, launch, home / "work"), launch.base)
    shell = Shell(project.rules.policy, scratch, scratch / "child")
    git = Git(snapshots, user, branch_of(launch.run), launch.base, place.clock)
    ci = LocalCI(snapshots.repo, shell, project.rules.contract.success_criteria, launch.base,
                 place.clock)
    hands = Hands(Workplace(launch.run, snapshots, shell, user,
                            identity_of(user, place.settings.home), place.queries, place.clock))
    return Controller(launch, project.rules, model, Authorities(git, ci), hands,
                      _journal(place, follow) if keep else Journal(MemoryTables(), alive),
                      place.clock)


def branch_of(run: RunId) -> str:
    """The branch that a run's Git commits are delivered on."""
    return f"oneshot/{run}"


def build_model(place: Place, config: ModelConfig, run: RunId, root: Path) -> Model:
    """The model interface that a configuration names. Raises SetupError for what it lacks."""
    folder = place.settings.cache / run / "model"
    return ADAPTERS[config.adapter](place.settings, config, folder, root)


def _journal(place: Place, follow: Follow) -> Journal:
    projections = Projections(place.queries, place.runs)

    def written(run: RunId) -> None:
        try:
            projections.catch_up(run)
        except OSError as fault:  # the record has it; the files catch up when they can
            talk(f"note: the files of {run} can't be written now: {fault.strerror}")
        follow(run)

    return Journal(place.tables, alive, written)


def _worktree(place: Place, launch: Launch, work: Path) -> Repo:
    """The run's own repository with its worktree, made when missing from what is recorded."""
    from controller.snapshots import Snapshots

    git_dir = place.runs / launch.run / "repo.git"
    row = place.tables.run(launch.run)
    state = entries(row.head["state"]) if row else {}
    if not git_dir.is_dir():
        half = git_dir.with_name("repo.new")
        shutil.rmtree(half, ignore_errors=True)
        create(half, place.user)
        half.rename(git_dir)
    borrow(git_dir, place.user)
    made, branch = Repo(git_dir), f"refs/heads/{branch_of(launch.run)}"
    head = str(entries(state.get("source_authority")).get("head") or launch.base)
    if head != launch.base and made.ref(branch) is None:  # the user's has what was delivered
        made.move_ref(branch, made.commit(head), ABSENT)
    index = git_dir / "worktree.index"
    if not work.is_dir():
        beside = work.with_name("work.new")  # half a worktree would look like somebody's deletions
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        repo = Repo(git_dir, beside, index)
        Snapshots(repo, launch.base).restore(tree_of(state) or repo.tree_of(launch.base))
        beside.rename(work)
    return Repo(git_dir, work, index)


def _claude(settings: Settings, config: ModelConfig, folder: Path, _root: Path) -> Model:
    from adapters.child import Child
    from adapters.claude_cli import ClaudeCli

    keys = _held(settings, "ANTHROPIC_API_KEY") or _held(settings, "CLAUDE_CODE_OAUTH_TOKEN")
    child = Child(_binary(settings, config, "claude"), folder, config.total_timeout,
                  config.idle_timeout)
    return ClaudeCli(child, config.model, keys, settings.home, settings.path, config.base_url,
                     config.max_output_tokens)


def _codex(settings: Settings, config: ModelConfig, folder: Path, _root: Path) -> Model:
    from adapters.child import Child
    from adapters.codex_cli import CodexCli

    # Silence is no sign with codex: it writes one event an answer. Its own stream clock is set.
    child = Child(_binary(settings, config, "codex"), folder, config.total_timeout, None)
    return CodexCli(child, config.model, _held(settings, "OPENAI_API_KEY"), settings.home,
                    settings.path, config.base_url, config.idle_timeout)


def _anthropic(settings: Settings, config: ModelConfig, _folder: Path, _root: Path) -> Model:
    from adapters.anthropic_api import AnthropicApi

    return AnthropicApi(_model_name(config), _key(settings, "ANTHROPIC_API_KEY"), config.base_url,
                        config.max_output_tokens, config.total_timeout, config.idle_timeout)


def _openai(settings: Settings, config: ModelConfig, _folder: Path, _root: Path) -> Model:
    from adapters.openai_api import OpenAiApi

    return OpenAiApi(_model_name(config), _key(settings, "OPENAI_API_KEY"), config.base_url,
                     config.api, config.strict, config.max_output_tokens, config.total_timeout,
                     config.idle_timeout)


def _scripted(_settings: Settings, config: ModelConfig, _folder: Path, root: Path) -> Model:
    from adapters.scripted import Scripted

    if not config.cassette:
        raise SetupError("the scripted adapter needs --cassette FILE or model.cassette")
    model = Scripted(root / config.cassette)
    model.check()
    return model


ADAPTERS: dict[str, Callable[[Settings, ModelConfig, Path, Path], Model]] = {
    "claude_cli": _claude,
    "codex_cli": _codex,
    "anthropic_api": _anthropic,
    "openai_api": _openai,
    "scripted": _scripted,
}
"""Adapter name -> how it is built."""


def _binary(settings: Settings, config: ModelConfig, program: str) -> str:
    found = config.binary or settings.find(program)
    if not found:
        raise ModelUnusable(f"{program} is not on PATH; install it, or set model.binary or another "
                         "model.adapter in .agent-contract/config.yaml")
    return found


def _held(settings: Settings, name: str) -> dict[str, str]:
    return {name: settings.keys[name]} if name in settings.keys else {}


def _key(settings: Settings, name: str) -> str:
    if name not in settings.keys:
        raise ModelUnusable(f"this adapter needs a key in the variable {name}")
    return settings.keys[name]


def _model_name(config: ModelConfig) -> str:
    if not config.model:
        raise SetupError("this adapter needs --model NAME or model.model in config.yaml")
    return config.model


def recorded(model: Model, cassette: Path | None) -> Model:
    """The model, perhaps with what it says written down."""
    if cassette is None:
        return model
    from adapters.scripted import Recording

    if not cassette.absolute().parent.is_dir():
        raise SetupError(f"{cassette}: there is no folder to record into")
    return Recording(model, cassette)
