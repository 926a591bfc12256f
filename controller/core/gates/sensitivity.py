"""Judging gate: nothing secret and nothing invisible goes into the state, a file or a commit."""

from collections.abc import Iterator

from controller.core.canonical import JsonValue
from controller.core.pointer import pointer
from controller.core.records import Candidate, Facts
from controller.core.redact import found
from controller.core.rules import Rules
from controller.core.verdict import Objection, Verdict, judged

_HIDDEN = {
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x00AD, 0x180E,
    *range(0xE0000, 0xE0080),
}
"""Zero-width, bidirectional and tag characters: text that a person can't see or sees elsewhere."""

_JOINERS = {0x200D}  # part of emoji and of several scripts


def sensitivity(candidate: Candidate, _facts: Facts, _rules: Rules) -> Verdict:
    """Refuse secrets (naming the rule, never the value) and characters that a person can't see."""
    document = candidate.transition.document
    return judged("sensitivity", (
        *_walk(document["state_patch"], pointer("state_patch")),
        *_walk(document["action"], pointer("action")),
    ))


def _walk(value: JsonValue, path: str) -> Iterator[Objection]:
    match value:
        case str():
            yield from _text(value, path)
        case list():
            for index, item in enumerate(value):
                yield from _walk(item, path + pointer(index))
        case dict():
            for key, below in value.items():
                yield from _text(key, path)
                yield from _walk(below, path + pointer(key))
        case None | int() | float():
            return


def _text(text: str, path: str) -> Iterator[Objection]:
    for rule in found(text):
        yield Objection(path, f"looks like a secret ({rule}); leave it out")
    hidden = sorted({ord(char) for char in text} & (_HIDDEN - _JOINERS))
    if hidden:
        names = ", ".join(f"U+{code:04X}" for code in hidden)
        yield Objection(path, f"has invisible characters ({names}); write them as escapes")
