"""A cassette: replies written down beforehand, one JSON line a step. No model is asked.

A line is `{"reply": {…}}`, a transition as JSON, or `{"raw": "…"}`, the very text of a reply; a
`usage` may stand beside either. Which line is played depends on the step's number alone, so a step
that is made again after a crash gets the same reply.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from controller.core.canonical import JsonObject, canonical
from controller.core.errors import SetupError
from controller.core.miss import Broken, Miss, correction
from controller.core.ports import Model
from controller.core.records import Prompt, Reply, Usage


@dataclass(frozen=True, slots=True)
class Scripted:
    """Plays the replies of a cassette."""

    cassette: Path

    @property
    def name(self) -> str:
        return f"scripted:{self.cassette.name}"

    def check(self) -> None:
        """Raise SetupError, with its place, for whatever makes the cassette useless."""
        lines = _read(self.cassette)
        if not lines:
            raise SetupError(f"{self.cassette}: the cassette is empty")
        for number, line in enumerate(lines, 1):
            _reply(self.cassette, number, line)

    def propose(self, prompt: Prompt) -> Reply | Miss:
        lines = _read(self.cassette)
        if prompt.step >= len(lines):
            return Miss(Broken(), f"{self.cassette} has {len(lines)} replies; step "
                        f"{prompt.step + 1} needs another")
        return _reply(self.cassette, prompt.step + 1, lines[prompt.step])


@dataclass(frozen=True, slots=True)
class Recording:
    """Asks another model and writes down what it says, as a cassette."""

    model: Model
    cassette: Path

    @property
    def name(self) -> str:
        return self.model.name

    def propose(self, prompt: Prompt) -> Reply | Miss:
        reply = self.model.propose(prompt)
        if isinstance(reply, Miss) and not correction(reply):
            return reply  # it is no step
        line: JsonObject = {"raw": reply.body.decode("utf-8", "replace"),
                            "usage": asdict(reply.usage)}
        kept = _lines(self.cassette)[:prompt.step] if self.cassette.exists() else []
        text = "\n".join([*kept, canonical(line).decode()]) + "\n"
        beside = self.cassette.with_name(self.cassette.name + ".tmp")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.cassette)
        return reply


def _read(cassette: Path) -> list[str]:
    if not cassette.is_file():
        why = "it is no file" if cassette.exists() else "there is no such file"
        raise SetupError(f"{cassette}: the cassette can't be read: {why}")
    try:
        return _lines(cassette)
    except (OSError, UnicodeDecodeError) as fault:
        raise SetupError(f"{cassette}: the cassette can't be read: {fault}") from None


def _lines(cassette: Path) -> list[str]:
    return [line for line in cassette.read_text(encoding="utf-8").split("\n") if line.strip()]


def _reply(cassette: Path, number: int, line: str) -> Reply:
    try:
        entry = json.loads(line)
        body = entry["raw"].encode() if "raw" in entry else canonical(entry["reply"])
        return Reply(body, Usage(**entry.get("usage", {})))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise SetupError(f'{cassette}:{number}:1: expected {{"reply": {{…}}}} or {{"raw": "…"}} as '
                         f"one JSON line, got {line[:60]}") from None
