"""The composition root: the only place where ports meet their implementations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from controller.checkout import identity_of
from controller.cli.heartbeat import beating
from controller.cli.house import House
from controller.cli.place import Place, branch_of
from controller.cli.show import talk
from controller.core.canonical import entries
from controller.core.config import ModelConfig
from controller.core.errors import ModelUnusable, SetupError, WorldError
from controller.core.head import Launch, Lease, RunId
from controller.core.policy import ISSUE
from controller.core.ports import Mailbox, Model
from controller.documents import of_documents
from controller.lookup import Lookup
from controller.loop import Controller
from controller.notify.configured import routes
from controller.notify.post import Post
from controller.processes import alive, end_marked, this_process
from controller.sandbox.choice import Sandbox
from controller.settings import Settings
from controller.store.journal import Journal
from controller.store.projections import Projections


class NoMail:
    """Nothing comes in from elsewhere."""

    def collect(self, run: RunId) -> None:
        pass


NO_MAIL = NoMail()

Follow = Callable[[RunId], None]


def build(place: Place, launch: Launch, model: Model, store: Journal,
          sandbox: Sandbox, lease: Lease | None = None,
          mailbox: Mailbox = NO_MAIL) -> Controller:
    """The controller of one run over `store`, with its repository and worktree in place.

    Without a lease it is that of a run which nobody else knows of yet.
    """
    from controller.actions.hands import Hands
    from controller.actions.workplace import Workplace
    from controller.authorities import Authorities
    from controller.authorities.ci import LocalCI
    from controller.authorities.constraints import Constraints
    from controller.authorities.criteria import Criteria
    from controller.authorities.git import Git
    from controller.authorities.hosted import Hosted
    from controller.authorities.issue import IssueFile
    from controller.authorities.runtime import Runtime
    from controller.cli.confine import shell_of, tests_of
    from controller.forge.configured import outside_of

    project, user = of_documents(launch.documents), place.user
    rules = project.rules
    house = House(place, launch)
    snapshots = house.worktree(lease.worktree if lease else 0)
    shell = shell_of(house, launch, rules.policy, sandbox, lease.worktree if lease else 0)
    rules = replace(rules, redactor=shell.redactor,
                    resolves=Lookup(snapshots.repo, place.queries.artifact).resolves)
    base, repo = launch.base, snapshots.repo
    git = Git(snapshots, user, branch_of(launch.run), base, place.clock,
              rules.policy.protected_paths)
    outside = outside_of(rules, launch.run, branch_of(launch.run), place.settings, user, repo)
    hosted = Hosted(outside, rules.contract, place.clock, rules.policy.trusted) if outside else None
    runtime = Runtime(repo, shell, base, place.clock)
    criteria = Criteria(
        LocalCI(repo, shell, base, place.held_out), user, rules.contract, rules.policy, place.clock,
        runtime, hosted, known=lambda key: place.queries.measured_on_base(launch.run, key, base))
    constraints = Constraints(repo, rules.contract.constraints, base, place.clock)
    hands = Hands(Workplace(
        launch.run, snapshots, shell, user, identity_of(user, place.settings.home), place.queries,
        place.clock, tests_of(rules), outside, lambda: store.check(lease) if lease else None))
    issue = IssueFile(place.root, project.config.issue_file, rules.redactor,
                      ISSUE in rules.policy.trusted) if project.config.issue_file else None
    return Controller(launch, rules, model, Authorities(
        git, criteria, runtime, constraints, hosted, issue), hands, store, place.clock, mailbox)


def build_model(place: Place, launch: Launch, config: ModelConfig) -> Model:
    """The model interface that a configuration names. Raises SetupError for what it lacks."""
    folder = House(place, launch).cache / "model"
    return ADAPTERS[config.adapter](place.settings, config, folder, place.root)


def journal(place: Place, *follow: Follow) -> Journal:
    """The durable record of a checkout, with its projections kept up, and told to who follows."""
    projections = Projections(place.queries, place.runs)

    def written(run: RunId) -> None:
        try:
            projections.catch_up(run)
        except (OSError, WorldError) as fault:  # the record has it; they catch up when they can
            talk(f"note: the files of {run} can't be written now: {fault}")
        for told in follow:
            told(run)

    return Journal(place.tables, alive, place.seal, written)


def post_of(place: Place, launch: Launch) -> Post:
    """How people elsewhere are told of a run, and answer. Raises SetupError for an unset variable.
    """
    config = entries(launch.documents["config"])
    found = routes(entries(config.get("notify")), place.settings.variables, place.root)
    return Post(place.queries, place.desk, place.seal, place.clock,
                of_documents(launch.documents).rules.limits, found,
                place.runs / launch.run / "notices.json", talk,
                place.queries.last_number(launch.run) if launch.run in place.queries.runs() else 0)


@contextmanager
def held(place: Place, run: RunId, store: Journal) -> Iterator[Lease]:
    """Hold a run, with a heartbeat. What a dead or frozen controller left running is ended first.

    Raises LeaseLost naming the holder when another controller has it.
    """
    with (store.lease(run, this_process(), place.clock.now()) as lease,
          beating(place, lease)):
        end_marked(House(place, place.queries.launch(run)).mark)
        yield lease


def _claude(settings: Settings, config: ModelConfig, folder: Path, _root: Path) -> Model:
    from adapters.child import Child
    from adapters.claude_cli import ClaudeCli

    keys = _key_in(settings, "ANTHROPIC_API_KEY") or _key_in(settings, "CLAUDE_CODE_OAUTH_TOKEN")
    child = Child(_binary(settings, config, "claude"), folder, config.total_timeout,
                  config.idle_timeout, str(folder.parent))
    return ClaudeCli(child, config.model, keys, settings.home, settings.path, config.base_url,
                     config.max_output_tokens)


def _codex(settings: Settings, config: ModelConfig, folder: Path, _root: Path) -> Model:
    from adapters.child import Child
    from adapters.codex_cli import CodexCli

    # Silence is no sign with codex: it writes one event an answer. Its own stream clock is set.
    child = Child(_binary(settings, config, "codex"), folder, config.total_timeout, None,
                  str(folder.parent))
    return CodexCli(child, config.model, _key_in(settings, "OPENAI_API_KEY"), settings.home,
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


def _key_in(settings: Settings, name: str) -> dict[str, str]:
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
