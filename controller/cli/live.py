"""What a run shows while it goes: a live block on a terminal, a line a step elsewhere, or JSONL."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from controller.cli.show import mark, talk
from controller.core.action import identity, parse
from controller.core.canonical import JsonObject, entries, members
from controller.core.head import RunId
from controller.core.observation import line
from controller.core.ports import Executor, Model
from controller.core.records import Effect, Outcome, Prompt, Reply
from controller.store.queries import Queries

if TYPE_CHECKING:
    from rich.live import Live as RichLive

_HEARTBEAT = 60.0  # seconds of silence before a plain view says that it is still there


@dataclass(slots=True)
class Narrator:
    """Tells audit records in order, and where somebody else changed the worktree between two."""

    tree: str = ""

    def tell(self, record: JsonObject) -> list[str]:
        """The record in a line for a person, after a line about drift if there was some."""
        outcome = entries(record.get("outcome"))
        before, self.tree = self.tree, str(outcome.get("tree") or self.tree)
        drifted = before and outcome and outcome.get("tree_before") != before
        drift = ["       drift: somebody else changed files; they are taken over as they are"]
        return [*(drift if drifted else []), sentence(record)]


@dataclass(slots=True)
class View:
    """Follows one run. `phase` is what is being waited for right now."""

    queries: Queries
    as_json: bool = False
    quiet: bool = False
    phase: str = ""
    seen: int = 0
    block: "RichLive | None" = None
    narrator: Narrator = field(default_factory=Narrator)

    def written(self, run: RunId) -> None:
        """Show every audit record that is new."""
        for record in self.queries.audit(run, self.seen):
            self.seen = int(str(record["number"]))
            self._show(record)

    def waiting(self, phase: str) -> None:
        """Say what is being waited for."""
        self.phase = phase
        if self.block:
            self.block.update(self._spinner())

    def _show(self, record: JsonObject) -> None:
        told = self.narrator.tell(record)
        if self.as_json:
            click.echo(json.dumps({"schema": "oneshot/event@1", "message": told[-1], **record}))
        elif not self.quiet:
            for text in told:
                talk(text)

    def _spinner(self) -> Any:  # Any: a rich renderable; rich is imported late
        from rich.spinner import Spinner
        from rich.text import Text

        return Spinner("dots", Text(self.phase))


@contextmanager
def shown(view: View) -> Iterator[View]:
    """Follow a run with the view for as long as the block is open."""
    if sys.stderr.isatty() and not (view.as_json or view.quiet):
        from rich.console import Console
        from rich.live import Live as RichLive

        with RichLive(console=Console(stderr=True), transient=True, redirect_stdout=False,
                      redirect_stderr=True) as view.block:
            yield view
        return
    ended = threading.Event()
    pulse = threading.Thread(target=_pulse, args=(view, ended), daemon=True)
    pulse.start()
    try:
        yield view
    finally:
        ended.set()
        pulse.join()


def _pulse(view: View, ended: threading.Event) -> None:
    while not ended.wait(_HEARTBEAT):
        if view.phase and not view.as_json and not view.quiet:
            talk(f"      … {view.phase}")


@dataclass(frozen=True, slots=True)
class WatchedModel:
    """A model whose calls are shown while they last."""

    model: Model
    view: View

    @property
    def name(self) -> str:
        return self.model.name

    def propose(self, prompt: Prompt) -> Reply:
        self.view.waiting(f"step {prompt.step + 1}: asking {self.model.name} "
                          f"({len(prompt.text.encode()) / 1024:.1f} KiB)")
        return self.model.propose(prompt)


@dataclass(frozen=True, slots=True)
class WatchedExecutor:
    """An executor whose effects are shown while they last."""

    executor: Executor
    view: View

    def perform(self, effect: Effect) -> Outcome:
        self.view.waiting(self._doing(effect))
        return self.executor.perform(effect)

    def resume(self, effect: Effect) -> Outcome:
        if not self.view.as_json:
            talk(f"found open: {self._doing(effect)} ({effect.effect_class.value}: "
                 f"{_RECOVERY[effect.effect_class.value]})")
        return self.executor.resume(effect)

    def _doing(self, effect: Effect) -> str:
        step = effect.candidate.base.spent.steps
        return f"step {step}: {line(identity(effect.candidate.transition.action), 100)}"


_RECOVERY = {
    "pure": "it is done again",
    "workspace": "the worktree is restored to what it was before, and it is done again",
    "external": "the authority is asked whether it happened",
}


def sentence(record: JsonObject) -> str:
    """An audit record in one line for a person."""
    step, kind = record.get("step", ""), str(record["kind"])
    failed = entries(record.get("outcome")).get("status") == "failed"
    good = {"committed": not failed, "refused": False, "parked": None, "unknown": None}
    sign = mark(good[kind]) if kind in good else " "
    return f"{step!s:>4} {sign} {_what(kind, record)}"


def _what(kind: str, record: JsonObject) -> str:  # noqa: PLR0911  (one return a kind)
    match kind:
        case "committed":
            return _committed(record)
        case "refused":
            return f"refused: {_objections(record)}"
        case "parked":
            return f"waits for a person: {record['confirmation']}: {_objections(record)}"
        case "created":
            return f"run {record['run']} from {str(record['base'])[:12]}: {record['goal']}"
        case "unanswered":
            return f"the model did not answer: {line(str(record['reason']))}"
        case "said":
            return f"the user says: {line(str(record['text']))}"
        case "stopped" | "resumed":
            return f"{kind}: {entries(record.get('stopped')).get('reason', '')}"
        case _:
            return f"{kind} {record.get('confirmation', '')}".rstrip()


def _committed(record: JsonObject) -> str:
    action, stopped = entries(record["action"]), entries(record.get("stopped"))
    summary = str(entries(record["outcome"])["summary"])
    said = f"{line(identity(parse(action)), 70)} → {line(summary, 60)}"
    end = f" | {stopped['why']}: {stopped['reason']}" if stopped else ""
    return f"v{record['version']} {said}{end}"


def _objections(record: JsonObject) -> str:
    found = [f"{objection['path']}: {objection['message']}".removeprefix(": ")
             for verdict in map(entries, members(record.get("verdicts")))
             for objection in map(entries, members(verdict["objections"]))]
    return line("; ".join(found), 200)
