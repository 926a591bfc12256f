"""A world in memory: the real loop, gates and journal between a scripted model and a toy worktree.

    world = World()
    world.model.replies(action=run("pytest"), patch={"facts": {…}})
    head = world.step()

The worktree is a dictionary of files; `run` of `"write PATH TEXT"` changes it, so that workspace
effects can be half done, doubled and restored like real ones.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

import contracts
from controller.core.action import Command
from controller.core.approval import Seal
from controller.core.canonical import JsonObject, JsonValue, digest
from controller.core.config import FIRST_MODEL, Limits, ModelConfig
from controller.core.contract import CommandCheck, Contract, Criterion
from controller.core.governed import dated, governed
from controller.core.head import Head, Launch, Lease, Owner, RunId
from controller.core.policy import External, Policy
from controller.core.ports import Authority, Executor, Mailbox, Model, Store
from controller.core.rules import Rules, transition_schema
from controller.core.terms import contract_of
from controller.launch import launch
from controller.loop import current, run, step
from controller.parts import Controller
from controller.store.contracts import newest
from controller.store.journal import Journal
from controller.store.memory import MemoryTables
from controller.store.people import Desk
from controller.store.queries import Queries
from controller.store.tables import Tables
from controller.testing.clock import MORNING, FixedClock
from controller.testing.toys import Files, ScriptedModel, ToyAuthority, ToyExecutor

RUN = RunId("run-1")
ME = Owner("here", 1, "boot/1")


DEPLOY = External(Command(("sh", "-c", "deploy it")), Command(("sh", "-c", "is it there")))
"""An external command, with its probe."""


def command(line: str) -> JsonObject:
    """A `run` action."""
    return {"kind": "run", "shell": line}


def rules(**changes: object) -> Rules:
    """The coding domain's rules with a contract of one criterion, `green`, or with `changes`."""
    state = cast("JsonObject", contracts.domain("coding"))  # JSON, as it was parsed
    template = cast("JsonObject", contracts.schema("transition"))  # JSON, as it was parsed
    criterion = Criterion("green", "The tests pass.", CommandCheck(Command(("pytest",))))
    made = Rules("Do it.", Contract("Make it green.", (criterion,)), state,
                 transition_schema(template, state), Policy(external=(DEPLOY,)), Limits(steps=100),
                 models={FIRST_MODEL: ModelConfig("scripted")})
    return replace(made, **changes)  # type: ignore[arg-type]  # the caller names fields of Rules


def document(**fields: JsonValue) -> JsonObject:
    """The governed document of the contract that `rules` has, or of one with these fields."""
    written: JsonObject = {
        "goal": "Make it green.", "success_criteria": {
            "green": {"text": "The tests pass.", "check": {"argv": ["pytest"]}}}, **fields}
    return dated(governed(written, lambda path: f"intent-contract.yaml{path}"), MORNING)


@dataclass(slots=True)
class Letters:
    """A mailbox in which a test does what comes in while the run waits."""

    arrives: list[Callable[[], object]] = field(default_factory=list)

    def collect(self, run: RunId) -> None:
        if self.arrives:
            self.arrives.pop(0)()


SEAL = Seal(b"the key of a test")


@dataclass(slots=True)
class World:
    """One run with everything around it."""

    rules: Rules = field(default_factory=rules)
    tables: Tables = field(default_factory=MemoryTables)
    clock: FixedClock = field(default_factory=FixedClock)
    files: Files = field(default_factory=Files)
    model: ScriptedModel = field(default_factory=ScriptedModel)
    begun: datetime = MORNING
    others: dict[str, Model] = field(default_factory=dict)  # more models, by name
    alive: bool | None = True  # what is found when somebody looks for the holder of the run
    document: JsonObject = field(default_factory=document)
    mailbox: Mailbox = field(default_factory=Letters)
    authority: ToyAuthority = field(init=False)
    executor: ToyExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.authority = ToyAuthority(self.files, self.clock)
        self.executor = ToyExecutor(self.files)

    @property
    def store(self) -> Journal:
        """The durable record."""
        return Journal(self.tables, lambda _: self.alive, SEAL)

    @property
    def desk(self) -> Desk:
        """The durable record, as people write to it."""
        return Desk(self.tables, SEAL, "ada")

    @property
    def queries(self) -> Queries:
        """The durable record, read."""
        return Queries(self.tables)

    @property
    def head(self) -> Head:
        """The last committed point."""
        return self.store.head(RUN)

    def controller(self, wrap: "Wrap | None" = None) -> Controller:
        """The controller of the run; `wrap` may put something between the loop and its ports."""
        wrap, rules = wrap or Wrap(), replace(self.rules, terms=self.document)
        if self.tables.contract_version(RUN):
            document = newest(self.tables, SEAL, RUN)
            rules = replace(rules, contract=contract_of(document), terms=document,
                            mark=digest(document))
        fixed = Launch(RUN, rules.contract.goal, "base", self.begun, {"contract": self.document})
        return wrap.around(Controller(
            fixed, rules, {FIRST_MODEL: self.model, **self.others}, self.authority, self.executor,
            self.store, self.clock, self.mailbox))

    def open(self) -> Head:
        """Begin the run, unless it has begun."""
        if not self.tables.run(RUN):
            launch(self.controller())
        return self.head

    def step(self) -> Head:
        """Take one step."""
        self.open()
        ctl = self.controller()
        with self.lease() as lease:
            return step(ctl, lease)

    def go(self, steps: int | None = None, wrap: "Wrap | None" = None) -> Head:
        """Run until it ends, stands still or has taken `steps`, under the newest contract."""
        last = None if steps is None else self.open().spent.steps + steps
        self.open()
        with self.controller(wrap).store.lease(RUN, ME, self.clock.now()) as lease:
            while True:
                ctl = self.controller(wrap)
                head = run(ctl, lease, None if last is None else last - self.head.spent.steps)
                if head.stopped or head.spent.steps == last or current(ctl, lease):
                    return head

    @contextmanager
    def lease(self) -> Iterator[Lease]:
        """Hold the run."""
        with self.store.lease(RUN, ME, self.clock.now()) as lease:
            yield lease


@dataclass(frozen=True, slots=True)
class Wrap:
    """What a test puts around ports; by default nothing."""

    model: Callable[[Model], Model] = lambda model: model
    executor: Callable[[Executor], Executor] = lambda executor: executor
    authority: Callable[[Authority], Authority] = lambda authority: authority
    store: Callable[[Store], Store] = lambda store: store

    def around(self, ctl: Controller) -> Controller:
        """The controller with it around its ports."""
        return replace(ctl, models={name: self.model(model) for name, model in ctl.models.items()},
                       executor=self.executor(ctl.executor),
                       authority=self.authority(ctl.authority), store=self.store(ctl.store))
