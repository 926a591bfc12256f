"""The composition root: the only place where ports meet their implementations."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from controller.checkout import identity_of
from controller.cli.heartbeat import beating
from controller.cli.house import House
from controller.cli.place import Place, SystemClock, branch_of
from controller.cli.show import talk
from controller.core.budget import ends
from controller.core.canonical import entries
from controller.core.config import FIRST_MODEL, Config, ModelConfig
from controller.core.errors import ModelUnusable, SetupError, WorldError
from controller.core.head import Launch, Lease, RunId, Wish
from controller.core.miss import Broken, Miss
from controller.core.policy import ISSUE
from controller.core.ports import Mailbox, Model
from controller.core.records import Prompt, Reply
from controller.core.rules import Rules
from controller.documents import of_documents
from controller.lookup import Lookup
from controller.notify.configured import routes
from controller.notify.post import Post
from controller.parts import Controller
from controller.processes import alive, end_marked, this_process
from controller.sandbox.choice import Sandbox
from controller.settings import Settings
from controller.store.journal import Journal
from controller.store.projections import Projections

if TYPE_CHECKING:
    from adapters.measure import Measure
    from adapters.registry import Adapter


class NoMail:
    """Nothing comes in from elsewhere."""

    def collect(self, run: RunId) -> None:
        pass


NO_MAIL = NoMail()

Follow = Callable[[RunId], None]


def build(place: Place, launch: Launch, models: Mapping[str, Model], store: Journal,
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
        place.clock, tests_of(rules), outside, lambda: store.check(lease) if lease else None,
        _enough(place, launch, store, rules)))
    issue = IssueFile(place.root, project.config.issue_file, rules.redactor,
                      ISSUE in rules.policy.trusted) if project.config.issue_file else None
    return Controller(launch, rules, models, Authorities(
        git, criteria, runtime, constraints, hosted, issue), hands, store, place.clock, mailbox)


def _enough(place: Place, launch: Launch, store: Journal, rules: Rules) -> Callable[[], bool]:
    """Whether the user wants the run to end or to stand still, or its time is over."""
    end = ends(rules, launch.at)
    return lambda: (store.inbox.wish(launch.run) is not Wish.NONE
                    or (end is not None and place.clock.now() >= end))


def build_models(place: Place, launch: Launch, config: Config) -> dict[str, Model]:
    """Every model that a configuration names and that may be asked. Raises SetupError for what is
    configured wrongly, and ModelUnusable when none of them can be used here.
    """
    built: dict[str, Model] = {}
    faults: list[ModelUnusable] = []
    for name in dict.fromkeys((*config.routing.order, *chain(*config.routing.phases.values()))):
        try:
            built[name] = _built(place, launch, name, config.models[name])
        except ModelUnusable as fault:
            faults.append(fault)
            built[name] = Absent(name, str(fault))
        except SetupError as fault:
            raise SetupError(f"config.yaml: {_place(name)}: {fault}") from None
    if len(faults) == len(built):
        raise faults[0]
    for name, model in built.items():
        if isinstance(model, Absent):
            talk(f"note: {name} can't be asked here: {model.why}")
    return built


def check_adapters(config: Config) -> None:
    """Raise SetupError for the first model of a configuration whose adapter is not there."""
    for name, model in config.models.items():
        try:
            adapter_named(model.adapter)
        except SetupError as fault:
            raise SetupError(f"config.yaml: {_place(name)}: {fault}") from None


def _place(name: str) -> str:
    """Where a model stands in the configuration (a JSON Pointer)."""
    return f"/{FIRST_MODEL}" if name == FIRST_MODEL else f"/models/{name}"


def _built(place: Place, launch: Launch, name: str, config: ModelConfig) -> Model:
    from adapters.registry import Setup, find

    house = House(place, launch)
    return find(config.adapter).build(Setup(
        place.settings, config, house.cache / "models" / name, place.root, place.clock, house.mark))


@dataclass(frozen=True, slots=True)
class Absent:
    """A model that this machine can't ask; another one may answer in its place."""

    name: str
    why: str

    def propose(self, prompt: Prompt) -> Miss:
        return Miss(Broken(), self.why)


def adapter_names() -> tuple[str, ...]:
    """Every adapter that is installed."""
    from adapters.registry import names

    return names()


def adapter_named(name: str) -> "Adapter":
    """An adapter that is installed. Raises SetupError when it is not."""
    from adapters.registry import find

    return find(name)


def measured(settings: Settings, config: ModelConfig, folder: Path, *, login: bool) -> "Measure":
    """What a model interface really sends, asked of nobody. `folder` is to be empty."""
    from adapters.measure import measure
    from adapters.registry import Setup, find

    setup = Setup(settings, config, folder, folder, SystemClock())
    return measure(find(config.adapter), setup, login=login)


def usable(settings: Settings, config: ModelConfig, root: Path) -> bool:
    """Whether a configured model could be asked here, as far as that can be told without asking."""
    from adapters.registry import Setup, find

    try:
        find(config.adapter).build(Setup(settings, config, root, root, SystemClock()))
    except (SetupError, ModelUnusable):
        return False
    return True


def tried(settings: Settings, config: ModelConfig, folder: Path,
          root: Path) -> "tuple[Reply | Miss, float]":
    """What a model says to a tiny prompt, and after how many seconds. It may have to be paid for.
    """
    from adapters.measure import tiny
    from adapters.registry import Setup, find

    clock = SystemClock()
    model, begun = find(config.adapter).build(
        Setup(settings, config, folder, root, clock)), clock.now()
    return model.propose(tiny()), (clock.now() - begun).total_seconds()


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
                of_documents(launch.documents).rules, found,
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


def recorded(model: Model, cassette: Path | None) -> Model:
    """The model, perhaps with what it says written down."""
    if cassette is None:
        return model
    from adapters.scripted import Recording

    if not cassette.absolute().parent.is_dir():
        raise SetupError(f"{cassette}: there is no folder to record into")
    return Recording(model, cassette)
