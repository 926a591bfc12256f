"""A run as one value, to go on with on another machine: everything that the record has of it."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from controller.core.approval import Seal
from controller.core.canonical import JsonObject, canonical
from controller.core.errors import SetupError
from controller.core.facts import Snapshot
from controller.core.head import Launch, RunId, Stop, Stopped
from controller.store.contracts import resign
from controller.store.ledger import keep, note, row_of
from controller.store.rows import int_in, launch_of, object_in, stopped_json
from controller.store.tables import AuditRow, ConfirmationRow, RunRow, Tables

_DIGEST = re.compile(rb'"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a bundle: everything that the record has of one run, and its Git objects."""

    launch: JsonObject
    row: RunRow
    effect: JsonObject | None
    confirmations: tuple[ConfirmationRow, ...]
    messages: tuple[tuple[int, str], ...]
    contracts: tuple[JsonObject, ...]
    audit: tuple[AuditRow, ...]
    artifacts: dict[str, bytes]
    repo: bytes
    worktree: Snapshot  # as it was when the bundle was made: somebody may have worked in it

    @property
    def run(self) -> RunId:
        """The run that it holds."""
        return RunId(self.row.run)

    @property
    def fixed(self) -> Launch:
        """The launch, as a value."""
        return launch_of(self.launch)


def gathered(tables: Tables, run: RunId, stopped: Stopped | None, repo: bytes,
             worktree: Snapshot) -> Bundle:
    """The bundle of a run as the tables have it, to stand still there for the reason `stopped`.

    Raises StateError for an unknown run.
    """
    row, audit = row_of(tables, run), tuple(tables.audit(run, 0))
    row = replace(row, head={**row.head, "stopped": stopped_json(stopped)}, holder=None, until=None,
                  worktree=0)
    confirmations, effect = tables.confirmations(run), tables.effect(run)
    named = canonical([row.body for row in audit]) + canonical(effect) + canonical(
        [item.body for item in confirmations])
    artifacts = {}
    for found in {match.decode() for match in _DIGEST.findall(named)}:
        data = tables.artifact(found)
        if data is not None:
            artifacts[found] = data
    return Bundle(object_in(tables.launch(run)), row, effect, confirmations,
                  tables.messages(run, 0), tables.contracts(run), audit, artifacts, repo, worktree)


def store(tables: Tables, seal: Seal, bundle: Bundle, now: datetime, folder: str) -> None:
    """Write the run into the record, in one transaction. It must go on from what is there of it.
    Whoever imports it vouches for its contract, and signs it.

    Raises SetupError when there is a run of this id that has gone another way.
    """
    row = bundle.row
    launch: JsonObject = {**bundle.launch, "folder": folder}
    with tables.transaction():
        known = fitting(tables, bundle)
        here = tables.run(row.run)
        token = max(row.token, here.token if here else 0) + 1
        if here is None:
            tables.create_run(row, launch)
        head = {**row.head, "heard": _messages(tables, bundle, known)}
        for item in bundle.confirmations:
            again = item.status in ("approved", "declined")  # by whom, nobody here can tell
            tables.put_confirmation(replace(item, status="open") if again else item)
            if again:
                head["stopped"] = stopped_json(Stopped(
                    Stop.WAITING, f"{item.id} was answered elsewhere; it must be answered again"))
        there = len(tables.contracts(row.run))
        for body in bundle.contracts[there:]:
            tables.put_contract(row.run, int_in(body["version"]), resign(seal, body, bundle.run))
        tables.put_run(replace(row, head=head, token=token))
        tables.put_effect(row.run, bundle.effect)
        for link in bundle.audit[len(known):]:
            tables.put_audit(link)
        for data in bundle.artifacts.values():
            keep(tables, data)
        note(tables, row.run, "imported", now, {
            "version": row.head["version"], "reason": "imported from a bundle; it goes on here"})


def fitting(tables: Tables, bundle: Bundle) -> tuple[AuditRow, ...]:
    """What the record has of the run already: the beginning of the bundle's audit trail.

    Raises SetupError when it has gone another way.
    """
    known = tuple(tables.audit(bundle.run, 0))
    if [link.hash for link in known] != [link.hash for link in bundle.audit[:len(known)]]:
        raise SetupError(f"there is a run {bundle.run} here that has gone another way, or further, "
                         "than the bundle; nothing was imported")
    return known


def _messages(tables: Tables, bundle: Bundle, known: tuple[AuditRow, ...]) -> int:
    """Bring the messages in, and say how far the head has heard them under their ids here."""
    heard, last = int_in(bundle.row.head["heard"]), 0
    here = tables.messages(bundle.run, 0) if known else ()
    for number, (id, text) in enumerate(bundle.messages):
        new = here[number][0] if number < len(here) else tables.put_message(
            bundle.run, text, "imported")
        last = new if id <= heard else last
    return last
