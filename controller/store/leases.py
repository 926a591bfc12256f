"""Leases: one controller steps a run at a time, and a dead one keeps nobody waiting."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controller.core.errors import LeaseLost
from controller.core.head import Lease, Owner, RunId
from controller.core.ports import Alive
from controller.store import rows
from controller.store.ledger import row_of
from controller.store.tables import Tables

LEASE = timedelta(hours=2)
"""How long a lease lasts after the last write under it, when its holder can't be looked at."""


@dataclass(slots=True)
class Held:
    """A lease for as long as a `with` block is open. One that is never left, as when the process
    dies, stays taken until somebody takes it over.
    """

    tables: Tables
    alive: Alive
    run: RunId
    owner: Owner
    now: datetime
    lease: Lease | None = None

    def __enter__(self) -> Lease:
        """The lease. Raises LeaseLost naming the holder when another one binds."""
        with self.tables.transaction():
            row = row_of(self.tables, self.run)
            if row.holder and row.until and self._binds(rows.owner_of(row.holder), row.until):
                raise LeaseLost(f"run {self.run} is held by {rows.owner_of(row.holder)}; "
                                "wait for it or stop it")
            self.lease = Lease(self.run, row.token + 1, self.owner)
            self.tables.put_run(replace(
                row, token=self.lease.token, holder=rows.owner_json(self.owner),
                until=(self.now + LEASE).isoformat()))
        return self.lease

    def __exit__(self, *_: object) -> None:
        """Let somebody else have the run, if the lease is still the newest."""
        with self.tables.transaction():
            row = row_of(self.tables, self.run)
            if self.lease and row.token == self.lease.token:
                self.tables.put_run(replace(row, holder=None, until=None))

    def _binds(self, holder: Owner, until: str) -> bool:
        """A live holder binds as long as he lives, one we can't look at until his lease is over."""
        alive = self.alive(holder)
        return self.now < datetime.fromisoformat(until) if alive is None else alive
