"""How commands put their results on the terminal."""

import json
import sys
from typing import TextIO

import click

from controller.core.canonical import JsonObject
from controller.core.head import Head, Stop
from controller.core.redact import showable
from controller.report.narrator import MARKS

_ASCII = str.maketrans({"✓": "+", "✗": "x", "→": "->", "…": "..."})

CODES = {Stop.FINISHED: 0, Stop.WAITING: 8, Stop.LIMIT: 3, Stop.STUCK: 5, Stop.ABORTED: 9,
         Stop.MOVED: 9}
"""Why a run stands still -> the exit code of the command that drove it there."""


def exit_code(head: Head) -> int:
    """The exit code that a head means. A run that may go on has not been proved done."""
    return CODES[head.stopped.why] if head.stopped else 3


def document(value: JsonObject) -> None:
    """One JSON document on stdout, with nothing else there."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def json_line(value: JsonObject) -> None:
    """One JSON document on one line of stdout, for streams of them."""
    click.echo(json.dumps(value, ensure_ascii=True))


def line(text: str = "") -> None:
    """A line of output, with nothing in it that could move the cursor, and no secret."""
    click.echo(_encodable(showable(text), sys.stdout))


def talk(text: str) -> None:
    """A line for people, on stderr."""
    click.echo(_encodable(showable(text), sys.stderr), err=True)


def mark(good: bool | None) -> str:
    """A mark for yes, no and unknown."""
    return MARKS[good]


def table(rows: list[tuple[str, ...]]) -> None:
    """Rows in columns, the last one as long as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1] if rows else []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line("  ".join([*cells, row[-1]]).rstrip())


def next_commands(*commands: str) -> None:
    """The last lines of an answer: what to type next."""
    for command in commands:
        talk(f"  {command}")


def _encodable(text: str, stream: TextIO) -> str:
    """The text as the stream can take it, in ASCII where it has nothing better."""
    encoding = stream.encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text
