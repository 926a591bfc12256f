"""The stores that `bench_store.py` compares: each runs T steps, and is resumed by another process.

A step overwrites a state of 2,000 bytes that no other step has, or appends it as a message. The
peers are imported where they are used: they are in the extra `bench` only.
"""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypedDict

from controller.core.config import Limits
from controller.loop import step as one_step
from controller.store.sqlite import open_tables
from controller.store.statements import MAKING, PRAGMAS
from controller.testing.world import RUN, World, command, rules

WAIT = 300.0
TABLES = """
CREATE TABLE IF NOT EXISTS intent (id INTEGER PRIMARY KEY CHECK (id = 1), text TEXT);
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 1), step INTEGER, text TEXT);
CREATE TABLE IF NOT EXISTS observation (step INTEGER PRIMARY KEY, text TEXT);
INSERT OR IGNORE INTO state VALUES (1, 0, '');
"""
THREAD: dict[str, Any] = {"configurable": {"thread_id": "run"}}
GRAPH = ("langchain_core.messages", "langgraph.checkpoint.sqlite", "langgraph.graph")

Stamps = list[float]


@dataclass(frozen=True, slots=True)
class Variant:
    """How a store runs (it returns the moments between its steps) and resumes (the steps it has),
    and what is imported before its clock starts.
    """

    name: str
    run: Callable[[int, Path], Stamps]
    resume: Callable[[Path], int]
    imports: tuple[str, ...] = ()


def text(step: int, kind: str = "state") -> str:
    """2,000 characters that only this step has; quickly made, for the clock runs."""
    return (hashlib.sha256(f"{kind} {step}".encode()).hexdigest() * 32)[:2000]


def driven(step: Callable[[int], object], steps: int) -> Stamps:
    """The moments between so many steps."""
    stamps = [time.perf_counter()]
    for number in range(1, steps + 1):
        step(number)
        stamps.append(time.perf_counter())
    return stamps


def floor(folder: Path) -> sqlite3.Connection:
    """The floor's database, made if need be."""
    base = sqlite3.connect(folder / "floor.db", isolation_level=None)
    for pragma in (*MAKING, *PRAGMAS):
        base.execute(pragma)
    base.executescript(TABLES)
    return base


def floor_run(steps: int, folder: Path) -> Stamps:
    """Two transactions a step."""
    base = floor(folder)

    def step(number: int) -> None:
        base.execute("BEGIN IMMEDIATE")
        base.execute("INSERT INTO intent VALUES (1, ?)", (text(number, "intent"),))
        base.execute("COMMIT")
        base.execute("BEGIN IMMEDIATE")
        base.execute("UPDATE state SET step = ?, text = ? WHERE step = ?",
                     (number, text(number), number - 1))
        base.execute("INSERT INTO observation VALUES (?, ?)", (number, text(number, "seen")))
        base.execute("DELETE FROM intent")
        base.execute("COMMIT")

    return driven(step, steps)


def floor_resume(folder: Path) -> int:
    """Load the state, and look for an open intent."""
    base = floor(folder)
    number, kept = base.execute("SELECT step, text FROM state").fetchone()
    assert kept == text(number)
    assert base.execute("SELECT * FROM intent").fetchone() is None
    return int(number)


def world(folder: Path) -> World:
    """A run of ours on a real database, whose model and actions take no time."""
    return World(tables=open_tables(folder / "oneshot.db"), rules=rules(limits=Limits(steps=None)))


def ours_run(steps: int, folder: Path) -> Stamps:
    """The loop itself: every gate, the prompt, two transactions, the audit chain."""
    run = world(folder)
    for number in range(1, steps + 1):
        run.model.replies(command(f"echo {number}"), {"facts": {
            f"f{part}": {"text": text(number)[part * 400:part * 400 + 399]} for part in range(5)}})
    run.open()
    ctl = run.controller()
    with run.lease() as lease:
        return driven(lambda _: one_step(ctl, lease), steps)


def ours_resume(folder: Path) -> int:
    """The head, and the effect that a crash may have left open."""
    store = world(folder).store
    assert store.open_effect(RUN) is None
    return store.head(RUN).version


def graph(folder: Path, *, messages: bool, steps: int = 0, stamps: Stamps | None = None) -> Any:
    """A LangGraph of one node, which overwrites a text or appends a message: once an invoke, or
    (with `steps`) in a loop.
    """
    made = import_module("langgraph.graph")

    class Fixed(TypedDict):
        step: int
        kept: str

    class Messages(TypedDict):
        step: int
        kept: Annotated[list[Any], made.add_messages]

    def node(state: Any) -> dict[str, Any]:
        number = state["step"] + 1
        if stamps is not None:
            stamps.append(time.perf_counter())
        new: Any = text(number)
        if messages:
            new = [import_module("langchain_core.messages").AIMessage(new)]
        return {"step": number, "kept": new}

    saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver(
        sqlite3.connect(folder / "langgraph.db", check_same_thread=False))
    saver.setup()
    drawn = made.StateGraph(Messages if messages else Fixed)
    drawn.add_node("node", node)
    drawn.add_edge(made.START, "node")
    drawn.add_conditional_edges("node", lambda s: "node" if s["step"] < steps else made.END)
    return drawn.compile(checkpointer=saver)


def invoked(steps: int, folder: Path, *, messages: bool) -> Stamps:
    """One invoke a step, as a process that makes one step would do it."""
    made = graph(folder, messages=messages)
    return driven(lambda number: made.invoke(
        {"step": number - 1}, THREAD, durability="sync"), steps)


def looped(steps: int, folder: Path, *, messages: bool) -> Stamps:
    """All steps in one invoke."""
    stamps: Stamps = []
    graph(folder, messages=messages, steps=steps, stamps=stamps).invoke(
        {"step": 0}, {**THREAD, "recursion_limit": steps + 10}, durability="sync")
    return [*stamps, time.perf_counter()]


def graph_resume(folder: Path, *, messages: bool) -> int:
    """Load the latest checkpoint of the thread."""
    found = graph(folder, messages=messages).get_state(THREAD).values
    step, kept = found["step"], found["kept"]
    assert (kept[-1].content if messages else kept) == text(step)
    return len(kept) if messages else int(step)


def workflow(folder: Path, step: Callable[[int], str], done: Callable[[Stamps], None]) -> Any:
    """A DBOS workflow, launched: one that is pending is recovered in the background."""
    dbos = import_module("dbos").DBOS
    dbos(config={"name": "bench", "system_database_url": f"sqlite:///{folder / 'dbos.db'}",
                 "application_version": "1", "log_level": "ERROR"})
    durable = dbos.step(name="step")(step)

    def work(steps: int) -> None:
        done(driven(durable, steps))

    made = dbos.workflow(name="work")(work)
    dbos.launch()
    return made


def dbos_run(steps: int, folder: Path) -> Stamps:
    """Each step returns a text. The process dies in the workflow, which is never over."""
    found: list[Stamps] = []
    reached = threading.Event()

    def done(stamps: Stamps) -> None:
        found.append(stamps)
        reached.set()
        threading.Event().wait()

    made = workflow(folder, text, done)
    threading.Thread(target=made, args=(steps,), daemon=True).start()
    assert reached.wait(WAIT)
    return found[0]


def dbos_resume(folder: Path) -> int:
    """Wait until DBOS has found the workflow and replayed it to the end of its last step."""
    found: list[Stamps] = []
    reached = threading.Event()

    def again(number: int) -> str:
        raise AssertionError(f"step {number} was done again")

    def done(stamps: Stamps) -> None:
        found.append(stamps)
        reached.set()

    workflow(folder, again, done)
    assert reached.wait(WAIT)
    return len(found[0]) - 1


VARIANTS = {
    "floor": Variant("SQLite, two transactions (the floor)", floor_run, floor_resume),
    "ours": Variant("oneshot, a whole step", ours_run, ours_resume),
    "fixed": Variant("LangGraph, fixed state, one loop", partial(looped, messages=False),
                     partial(graph_resume, messages=False), GRAPH),
    "invoked": Variant("LangGraph, fixed, an invoke a step", partial(invoked, messages=False),
                       partial(graph_resume, messages=False), GRAPH),
    "messages": Variant("LangGraph, messages, one loop", partial(looped, messages=True),
                        partial(graph_resume, messages=True), GRAPH),
    "dbos": Variant("DBOS, one workflow", dbos_run, dbos_resume, ("dbos",)),
}
