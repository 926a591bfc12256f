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
from typing import cast

import contracts
from controller.core.action import Command
from controller.core.canonical import JsonObject
from controller.core.config import Limits
from controller.core.contract import CommandCheck, Contract, Criterion
from controller.core.head import Head, Launch, Lease, Owner, RunId
from controller.core.policy import External, Policy
from controller.core.ports import Authority, Executor, Model, Store
from controller.core.rules import Rules, transition_schema
from controller.launch import launch
from controller.loop import Controller, run, step
from controller.store.journal import Journal
from controller.store.memory import MemoryTables
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
                 transition_schema(template, state), Policy(external=(DEPLOY,)), Limits())
    return replace(made, **changes)  # type: ignore[arg-type]  # the caller names fields of Rules


@dataclass(slots=True)
class World:
    """One run with everything around it."""

    rules: Rules = field(default_factory=rules)
    tables: Tables = field(default_factory=MemoryTables)
    clock: FixedClock = field(default_factory=FixedClock)
    files: Files = field(default_factory=Files)
    model: ScriptedModel = field(default_factory=ScriptedModel)
    alive: bool | None = True  # what is found when somebody looks for the holder of the run
    authority: ToyAuthority = field(init=False)
    executor: ToyExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.authority = ToyAuthority(self.files, self.clock)
        self.executor = ToyExecutor(self.files)

    @property
    def store(self) -> Journal:
        """The durable record."""
        return Journal(self.tables, lambda _: self.alive)

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
        wrap = wrap or Wrap()
        fixed = Launch(RUN, self.rules.contract.goal, "base", MORNING, {"contract": {}})
        return Controller(fixed, self.rules, wrap.model(self.model), wrap.authority(self.authority),
                          wrap.executor(self.executor), wrap.store(self.store), self.clock)

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
        """Run until it ends, stands still or has taken `steps`."""
        self.open()
        ctl = self.controller(wrap)
        with ctl.store.lease(RUN, ME, self.clock.now()) as lease:
            return run(ctl, lease, steps)

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
