"""Judging gate: nothing secret goes into the state or a file, and nothing invisible into the state.
"""

from collections.abc import Iterator

from controller.core.canonical import JsonValue
from controller.core.facts import Facts
from controller.core.pointer import pointer
from controller.core.records import Candidate
from controller.core.redact import HIDDEN
from controller.core.redact import found as found_in
from controller.core.rules import Rules
from controller.core.verdict import Objection, Verdict, judged


def sensitivity(candidate: Candidate, _facts: Facts, rules: Rules) -> Verdict:
    """Refuse secrets (naming the rule, never the value), and in the state what nobody can see."""
    document = candidate.transition.document
    patch, action = pointer("state_patch"), pointer("action")
    found = [*_walk(document["state_patch"], patch), *_walk(document["action"], action)]
    return judged("sensitivity", (
        *(objection for path, text in found for objection in _secrets(text, path, rules)),
        *(objection for path, text in found if path.startswith(patch)
          for objection in _hidden(text, path))))


def _walk(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    """(path, text) of every text in a value, keys included."""
    match value:
        case str():
            yield path, value
        case list():
            for index, item in enumerate(value):
                yield from _walk(item, path + pointer(index))
        case dict():
            for key, below in value.items():
                yield path, key
                yield from _walk(below, path + pointer(key))
        case None | int() | float():
            return


def _secrets(text: str, path: str, rules: Rules) -> Iterator[Objection]:
    held = rules.redactor.holds(text)
    for rule in (*found_in(text), *([held] if held else [])):
        yield Objection(path, f"looks like a secret ({rule}); leave it out")


def _hidden(text: str, path: str) -> Iterator[Objection]:
    seen = sorted({ord(char) for char in text} & HIDDEN)
    if seen:
        names = ", ".join(f"U+{code:04X}" for code in seen)
        yield Objection(path, f"has invisible characters ({names}); write them as escapes")
