"""What people write into the record of a run: messages and answers. No lease is needed for it."""

from dataclasses import dataclass, replace
from datetime import datetime

from controller.core.canonical import JsonObject
from controller.core.errors import SetupError
from controller.core.head import Head, RunId, Stop
from controller.core.parse import parse
from controller.core.projection import answered, corrected
from controller.store import rows
from controller.store.ledger import note, row_of
from controller.store.tables import ConfirmationRow, RunRow, Tables


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people leave messages for a run and answer its questions."""

    tables: Tables

    def say(self, run: RunId, text: str, now: datetime) -> int:
        with self.tables.transaction():
            row = row_of(self.tables, run)
            _still_here(row)
            message = self.tables.put_message(run, text, now.isoformat())
            note(self.tables, run, "said", now, {"message": message, "text": text})
            for asked in self.tables.confirmations(run):
                if asked.status == "open" and asked.body["kind"] == "question":
                    self.tables.put_confirmation(replace(asked, status="used"))
                    self._wake(row, rows.head_of(row.head))
        return message

    def answer(self, run: RunId, confirmation: str, *, approve: bool, reason: str,
               now: datetime) -> None:
        with self.tables.transaction():
            row = row_of(self.tables, run)
            _still_here(row)
            asked = _open(self.tables, run, confirmation, "action")
            head = rows.head_of(row.head)
            self.tables.put_confirmation(
                replace(asked, status="approved" if approve else "declined"))
            if not approve:
                head = _declined(head, asked, reason)
            self._wake(row, head)
            note(self.tables, run, "approved" if approve else "declined", now, {
                "version": head.version, "confirmation": confirmation, "reason": reason})

    def decide(self, run: RunId, question: str, *, happened: bool, now: datetime) -> None:
        with self.tables.transaction():
            row = row_of(self.tables, run)
            _still_here(row)
            asked = _open(self.tables, run, question, "unknown")
            self.tables.put_confirmation(
                replace(asked, status="approved" if happened else "declined"))
            head = rows.head_of(row.head)
            self._wake(row, head)
            note(self.tables, run, "decided", now, {
                "version": head.version, "confirmation": question, "happened": happened})

    def _wake(self, row: RunRow, head: Head) -> None:
        self.tables.put_run(replace(row, head=rows.head_json(replace(head, stopped=None))))


_OVER = {Stop.FINISHED: "is finished", Stop.ABORTED: "was ended",
         Stop.MOVED: "goes on elsewhere"}


def _still_here(row: RunRow) -> None:
    """Raise SetupError for a run that nobody here goes on with."""
    stopped = rows.head_of(row.head).stopped
    if stopped is not None and stopped.why in _OVER:
        raise SetupError(f"run {row.run} {_OVER[stopped.why]}; nobody would hear it")


_ANSWERED_BY = {"action": "`oneshot approve` or `oneshot deny`", "question": "`oneshot say`",
                "unknown": "`oneshot decide`"}


def _open(tables: Tables, run: RunId, confirmation: str, kind: str) -> ConfirmationRow:
    for row in tables.confirmations(run):
        if row.id == confirmation and row.status == "open":
            if row.body["kind"] == kind:
                return row
            raise SetupError(f"{confirmation} is to be answered with "
                             f"{_ANSWERED_BY[str(row.body['kind'])]}")
    raise SetupError(f"run {run} has no open confirmation {confirmation}; "
                     "`oneshot status` lists what waits")


def _declined(head: Head, asked: ConfirmationRow, reason: str) -> Head:
    action = asked.body["action"]
    assert isinstance(action, dict)
    told = corrected(head, f"A person declined your action ({asked.body['summary']}):\n"
                     + (reason or "no reason given; choose another way"))
    state: JsonObject = {**head.state, "confirmations": answered(
        head.state, asked.id, parse(action), "declined")}
    return replace(told, state=state)
