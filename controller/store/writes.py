"""What every write to the record of a run keeps to: the newest lease, the head it was made for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from controller.core.errors import LeaseLost, StaleHead
from controller.core.head import Head, Lease, RunId
from controller.store import rows
from controller.store.leases import LEASE
from controller.store.ledger import row_of
from controller.store.tables import RunRow, Tables


@dataclass(frozen=True, slots=True)
class Writes:
    """Checks and advances over some tables; `written` is called after each verb that made a record.
    """

    tables: Tables
    written: Callable[[RunId], None]

    @contextmanager
    def writing(self, run: RunId) -> Iterator[None]:
        """One transaction, told of once it is durable."""
        with self.tables.transaction():
            yield
        self.written(run)

    def own(self, lease: Lease) -> RunRow:
        """The row of a run. Raises LeaseLost when somebody else has taken it over."""
        row = row_of(self.tables, lease.run)
        if row.token != lease.token:
            holder = f" by {rows.owner_of(row.holder)}" if row.holder else ""
            raise LeaseLost(f"run {lease.run} was taken over{holder} while we held it; nothing "
                            "more is written here")
        return row

    def held(self, lease: Lease, version: int) -> RunRow:
        """As `own`, with its head at a version. Raises StaleHead when it has moved."""
        row = self.own(lease)
        now = row.head["version"]
        if now != version:
            raise StaleHead(f"run {lease.run} is at version {now}; this was made for {version}")
        return row

    def advance(self, row: RunRow, head: Head, now: datetime) -> None:
        """Let the row have another head, and the lease last on."""
        self.tables.put_run(replace(row, head=rows.head_json(head),
                                    until=(now + LEASE).isoformat()))
