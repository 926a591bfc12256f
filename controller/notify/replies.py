"""Answers as they come in: a line that says `approve c7 TOKEN`, or the same as JSON."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"(?im)^\s*/?(approve|deny|answer)\s+([a-z]\d+(?:-\d+)?)\s+([A-Z2-7]{16})"
                   r"(?:[ \t]+(.{1,2000}))?\s*$")


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody says he is allowed to say. Nothing in it is believed but for its token."""

    id: str
    approve: bool
    token: str
    reason: str
    how: str


def in_text(text: str, how: str) -> Iterator[Answer]:
    """Every answer in a text: lines that are one, and JSON.

    >>> [(a.id, a.approve, a.reason) for a in in_text("/deny c7 ABCDEFGHIJKLMNOP not now", "x")]
    [('c7', False, 'not now')]
    """
    for word, id, token, reason in _LINE.findall(text):
        yield Answer(id, word.lower() != "deny", token, reason, how)
    for line in text.splitlines():
        if line.lstrip().startswith(("{", "[")):
            yield from in_json(line, how)


def in_json(text: str, how: str) -> Iterator[Answer]:
    """The answers in a JSON document: `{"decision", "id", "token", "reason"}`, or a list of them,
    or such a list under the key `answers`.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return
    if isinstance(found, dict) and isinstance(found.get("answers"), list):
        found = found["answers"]
    for item in found if isinstance(found, list) else [found]:
        match item:
            case {"decision": "approve" | "deny" | "answer" as word, "id": str(id),
                  "token": str(token)}:
                reason = item.get("reason")
                yield Answer(id, word != "deny", token, reason if isinstance(reason, str) else "",
                             how)
            case _:
                pass
