"""What people have left for a run, as the loop takes it in: messages, answers, wishes, contracts.

People write without a lease (`people.py`); what they wrote is taken in here, by whoever holds one.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from controller.core.approval import Seal
from controller.core.head import Head, Lease, Message, RunId, Wish
from controller.core.records import Call
from controller.store import contracts, queue, rows
from controller.store.ledger import row_of
from controller.store.tables import Tables
from controller.store.writes import Writes


@dataclass(frozen=True, slots=True)
class Inbox:
    """The record as people have written to it. One verb, one transaction."""

    tables: Tables
    seal: Seal
    writes: Writes

    def contract(self, run: RunId) -> int:
        return contracts.version(self.tables, run)

    def amendments(self, run: RunId, since: int) -> str:
        return contracts.told(self.tables, run, since)

    def messages(self, run: RunId, after: int) -> tuple[Message, ...]:
        return tuple(Message(id, text) for id, text in self.tables.messages(run, after))

    def wish(self, run: RunId) -> Wish:
        return Wish(row_of(self.tables, run).wish)

    def grant_wish(self, lease: Lease) -> None:
        with self.tables.transaction():
            self.tables.put_run(replace(self.writes.own(lease), wish=""))

    def attend(self, lease: Lease, now: datetime) -> Head:
        before = rows.head_of(row_of(self.tables, lease.run).head)
        if not queue.answered(self.tables, lease.run) and queue.settled(self.tables, before):
            return before
        with self.writes.writing(lease.run):
            row = self.writes.held(lease, before.version)
            after = queue.attend(self.tables, self.seal, lease.run, rows.head_of(row.head), now)
            self.writes.advance(row, after, now)
        return after

    def remind(self, lease: Lease, now: datetime) -> Head:
        if queue.overdue(self.tables, lease.run, now):
            with self.writes.writing(lease.run):
                self.writes.own(lease)
                queue.remind(self.tables, lease.run, now)
        return rows.head_of(row_of(self.tables, lease.run).head)

    def granted(self, run: RunId) -> Call | None:
        return queue.granted(self.tables, run)
