"""What a run shows while it goes: a live block on a terminal, a line a step elsewhere, or JSONL."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from controller.cli.place import SystemClock
from controller.cli.show import talk
from controller.core.action import identity
from controller.core.budget import near
from controller.core.canonical import JsonObject
from controller.core.head import RunId
from controller.core.miss import Miss
from controller.core.observation import first_line
from controller.core.ports import Executor, Model
from controller.core.records import Candidate, Effect, Outcome, Prompt, Remains, Reply
from controller.core.rules import Rules
from controller.report.narrator import Narrator
from controller.store.queries import Queries

if TYPE_CHECKING:
    from rich.live import Live as RichLive

_HEARTBEAT = 60.0  # seconds of silence before a plain view says that it is still there


@dataclass(slots=True)
class View:
    """Follows one run. `phase` is what is being waited for right now."""

    queries: Queries
    as_json: bool = False
    quiet: bool = False
    phase: str = ""
    rules: Rules | None = None
    told: set[str] = field(default_factory=set)
    seen: int = 0
    block: "RichLive | None" = None
    narrator: Narrator = field(default_factory=Narrator)

    def written(self, run: RunId) -> None:
        """Show every audit record that is new."""
        for record in self.queries.audit(run, self.seen):
            self.seen = int(str(record["number"]))
            self._show(record)
            if record.get("until"):
                self.waiting(str(record["reason"]))
        if self.rules and not self.as_json:
            self._warn(run, self.rules)

    def _warn(self, run: RunId, rules: Rules) -> None:
        """Say once that a limit is near."""
        began = self.queries.launch(run).at
        now = SystemClock().now()
        for name, words in near(self.queries.head(run), rules, (now - began).total_seconds()):
            if name not in self.told:
                self.told.add(name)
                talk(f"note: {words}")

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

    def propose(self, prompt: Prompt) -> Reply | Miss:
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

    def foresee(self, candidate: Candidate) -> str:
        return self.executor.foresee(candidate)

    def undo(self, effect: Effect, outcome: Outcome) -> Outcome:
        return self.executor.undo(effect, outcome)

    def set_aside(self, candidate: Candidate) -> str:
        return self.executor.set_aside(candidate)

    def resume(self, effect: Effect, remains: Remains) -> Outcome:
        self.view.waiting(f"again: {self._doing(effect)}")
        return self.executor.resume(effect, remains)

    def _doing(self, effect: Effect) -> str:
        step = effect.candidate.base.spent.steps
        return f"step {step}: {first_line(identity(effect.candidate.transition.action), 100)}"
