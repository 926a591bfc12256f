"""Runs, heads and audit links to JSON and back: the form in which the record keeps them."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from controller.core.canonical import (
    JsonObject,
    JsonValue,
    canonical,
    digest_bytes,
    entries,
    members,
)
from controller.core.errors import Damaged
from controller.core.head import (
    Aside,
    Asking,
    Head,
    Launch,
    Owner,
    Reserved,
    RunId,
    Spent,
    Stop,
    Stopped,
    Turn,
)
from controller.store.tables import AuditRow

GENESIS = "0" * 64
"""What the first link of an audit chain follows."""


def head_json(head: Head) -> JsonObject:
    """A head, as schema `head` has it."""
    return {
        "schema": "oneshot/head@1", "run": head.run, "version": head.version, "state": head.state,
        "observation": head.observation, "before": head.before, "spent": asdict(head.spent),
        "heard": head.heard, "extras": head.extras, "exposed": head.exposed,
        "contract": head.contract, "marks": head.marks, "state_schema": head.schema,
        "stopped": stopped_json(head.stopped), "asking": asking_json(head.asking),
        "turns": [asdict(turn) for turn in head.turns],
    }


def head_of(row: JsonObject) -> Head:
    """The head that `head_json` wrote. Raises Damaged when it is none."""
    try:
        return _head_of(row)
    except (KeyError, TypeError, ValueError, AssertionError) as fault:
        raise Damaged(f"the head of run {row.get('run', '?')} is damaged ({fault!r}); `oneshot "
                      "verify-audit` says what is left of it") from fault


def _head_of(row: JsonObject) -> Head:
    return Head(
        RunId(str(row["run"])), int_in(row["version"]), object_in(row["state"]),
        str(row["observation"]), str(row["before"]),
        _spent_of(object_in(row["spent"])),
        int_in(row["heard"]), str(row.get("extras", "")), stopped_of(row["stopped"]),
        row.get("exposed") is True, int_in(row.get("contract", 1)),
        entries(row.get("marks")), str(row.get("state_schema", "")),
        asking_of(entries(row.get("asking"))),
        tuple(Turn(**cast("Any", turn)) for turn in members(row.get("turns"))))


def _spent_of(row: JsonObject) -> Spent:
    """What a run has spent; before 0.2 all tokens were one number."""
    if "tokens" not in row:
        return Spent(**cast("Any", row))  # as asdict wrote it
    return Spent(int_in(row["steps"]), int_in(row["refusals_in_a_row"]), int_in(row["tokens"]),
                 usd=float(cast("Any", row["usd"])), unpriced=int_in(row["unpriced"]))


def asking_json(asking: Asking) -> JsonObject:
    """How it stands with the models."""
    return {"model": asking.model, "misses": asking.misses, "since": moment_json(asking.since),
            "until": moment_json(asking.until), "why": asking.why,
            "aside": {name: {"until": moment_json(aside.until), "why": aside.why}
                      for name, aside in asking.aside.items()},
            "reserved": asdict(asking.reserved) if asking.reserved else None}


def asking_of(row: JsonObject) -> Asking:
    """What `asking_json` wrote; runs of before 0.2 have nothing of it."""
    if not row:
        return Asking()
    reserved = row["reserved"]
    return Asking(
        str(row["model"]), int_in(row["misses"]), _moment_of(row["since"]),
        _moment_of(row["until"]), str(row["why"]),
        {name: Aside(_moment_of(entries(aside)["until"]), str(entries(aside)["why"]))
         for name, aside in object_in(row["aside"]).items()},
        Reserved(**cast("Any", reserved)) if reserved else None)  # as asdict wrote it


def moment_json(moment: datetime | None) -> str | None:
    """A moment, or null."""
    return moment.isoformat() if moment else None


def _moment_of(value: JsonValue) -> datetime | None:
    return datetime.fromisoformat(str(value)) if value else None


def stopped_json(stopped: Stopped | None) -> JsonValue:
    """Why a run stands still, or null."""
    return {"why": stopped.why.value, "reason": stopped.reason} if stopped else None


def launch_json(launch: Launch) -> JsonObject:
    """A launch record."""
    return {"run": launch.run, "goal": launch.goal, "base": launch.base,
            "at": launch.at.isoformat(), "documents": launch.documents, "folder": launch.folder}


def launch_of(row: JsonObject) -> Launch:
    """The launch that `launch_json` wrote."""
    return Launch(RunId(str(row["run"])), str(row["goal"]), str(row["base"]),
                  datetime.fromisoformat(str(row["at"])), object_in(row["documents"]),
                  str(row.get("folder", "")))


def owner_json(owner: Owner) -> JsonObject:
    """The holder of a lease."""
    return {"host": owner.host, "pid": owner.pid, "mark": owner.mark}


def owner_of(row: JsonObject) -> Owner:
    """The holder that `owner_json` wrote."""
    return Owner(str(row["host"]), int_in(row["pid"]), str(row["mark"]))


def linked(run: str, last: AuditRow | None, body: JsonObject) -> AuditRow:
    """The next link of an audit chain."""
    number, prev = (last.number + 1, last.hash) if last else (1, GENESIS)
    numbered: JsonObject = {"schema": "oneshot/step@1", "number": number, **body}
    return AuditRow(run, number, numbered, prev, link_hash(prev, numbered))


def first_break(links: Iterable[AuditRow]) -> int | None:
    """The number of the first link that does not follow the one before it; None when all do."""
    prev = GENESIS
    for number, link in enumerate(links, 1):
        if (link.number != number or link.prev != prev
                or link.hash != link_hash(prev, link.body)):
            return number
        prev = link.hash
    return None


def link_hash(prev: str, body: JsonObject) -> str:
    """What chains a body to the link before it: SHA-256 of that link's hash and the body."""
    return digest_bytes(prev.encode() + canonical(body))


def stopped_of(row: JsonValue) -> Stopped | None:
    """What `stopped_json` wrote."""
    if not isinstance(row, dict):
        return None
    return Stopped(Stop(str(row["why"])), str(row["reason"]))


def object_in(value: JsonValue) -> JsonObject:
    """The object that a stored value is, as it was written."""
    assert isinstance(value, dict)
    return value


def int_in(value: JsonValue) -> int:
    """The integer that a stored value is, as it was written."""
    assert isinstance(value, int)
    return value
