"""Whether the record of a run is whole, where it breaks, and what can be saved of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.core.canonical import JsonObject, JsonValue, digest_bytes, entries
from controller.core.errors import ControllerError
from controller.core.head import RunId
from controller.store.queries import Queries
from controller.store.rows import GENESIS, first_break, int_in
from controller.store.tables import AuditRow


@dataclass(frozen=True, slots=True)
class Health:
    """The number of records that could be read, the hash of the last, and every fault, in words.

    `rest` says what is whole, for a run that has faults.
    """

    records: int
    last: str
    faults: tuple[str, ...]
    rest: str


def health(queries: Queries, run: RunId) -> Health:
    """Look at all that a run has in the record."""
    faults: list[str] = []
    number, last, point = 0, "", -1
    broken = None
    with _told(faults):
        broken = queries.broken_link(run)
    if broken is not None:
        faults.append(_BREAK.format(broken))
    for number, record in _records(queries, run, faults):
        lost = [f"record {number}: its {name} ({digest[:12]}) is lost or changed"
                for name, digest in _named(record) if not _kept(queries, digest)]
        faults += lost
        last = str(record["hash"])
        if "state" in record and not lost and (broken is None or number < broken):
            point = int(str(record.get("step", 0)))
    with _told(faults):
        queries.head(run)
    rest = (f"the state after step {point} is whole: `oneshot fork --from {point} {run}` goes on "
            "from there" if point >= 0 else "no state of it is whole")
    return Health(number, last, tuple(faults), rest)


@contextmanager
def _told(faults: list[str]) -> Iterator[None]:
    try:
        yield
    except ControllerError as fault:
        faults.append(str(fault))


def _records(queries: Queries, run: RunId,
             faults: list[str]) -> Iterator[tuple[int, JsonObject]]:
    """Every record that can be read, with its number; of the others, why not."""
    number, end = 0, queries.last_number(run)
    while number < end:
        with _told(faults):
            for record in queries.audit(run, number):
                number += 1
                yield number, record
        number += 1  # past the one that can't be read


def file_fault(file: Path) -> str | None:
    """Where the chain of an `audit.jsonl` breaks, in words; None when it holds."""
    links, prev = [], GENESIS
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record: JsonObject = json.loads(line)
                body = {key: value for key, value in record.items() if key != "hash"}
                link = AuditRow("", int_in(record["number"]), body, prev, str(record["hash"]))
            except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
                return f"{file}:{number}:1: expected an audit record, got {line[:60]!r}"
            links.append(link)
            prev = link.hash
    broken = first_break(links)
    return f"{file}:{broken}:1: {_BREAK.format(broken)}" if broken else None


_BREAK = "the chain breaks at record {}: it does not follow the one before it"


def _kept(queries: Queries, digest: str) -> bool:
    data = queries.artifact(digest)
    return data is not None and digest_bytes(data) == digest


def _named(record: JsonObject) -> Iterator[tuple[str, str]]:
    """The artifacts that a record names."""
    call, outcome = entries(record.get("call")), entries(record.get("outcome"))
    found: list[tuple[str, JsonValue]] = [
        ("state", record.get("state")), ("output", outcome.get("artifact")),
        *((name, call.get(name)) for name in ("stable", "volatile", "reply"))]
    empty = digest_bytes(b"")
    return ((name, digest) for name, digest in found
            if isinstance(digest, str) and digest != empty)
