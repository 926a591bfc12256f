"""Leases: one controller steps a run at a time, and a dead or frozen one keeps nobody waiting.

A holder renews his lease while he works. Whoever finds it held takes it over at once when the
holder's process is gone (or was of another boot), and after it has run out when that can't be told
or when the process stands still. The token of a lease grows with each, and every write names it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controller.core.errors import LeaseLost
from controller.core.head import Lease, Owner, RunId
from controller.core.ports import Alive
from controller.store import rows
from controller.store.ledger import row_of
from controller.store.tables import RunRow, Tables

LEASE = timedelta(seconds=60)
"""How long a lease lasts after the last write under it."""

BEAT = LEASE / 4
"""How often its holder renews it."""


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
            worktree = self._worktree(row)
            self.lease = Lease(self.run, row.token + 1, worktree)
            self.tables.put_run(replace(
                row, token=self.lease.token, holder=rows.owner_json(self.owner),
                worktree=worktree, until=(self.now + LEASE).isoformat()))
        return self.lease

    def __exit__(self, *_: object) -> None:
        """Let somebody else have the run, if the lease is still the newest."""
        with self.tables.transaction():
            row = row_of(self.tables, self.run)
            if self.lease and row.token == self.lease.token:
                self.tables.put_run(replace(row, holder=None, until=None))

    def _worktree(self, row: RunRow) -> int:
        """The number of the worktree of a new lease: another one when the last holder may wake up
        in his.

        Raises LeaseLost while his lease binds.
        """
        if not row.holder:
            return row.worktree
        holder = rows.owner_of(row.holder)
        if self.alive(holder) is False:
            return row.worktree
        if row.until and self.now < datetime.fromisoformat(row.until):
            raise LeaseLost(held_by(self.run, holder))
        return row.token + 1


def held_by(run: RunId, holder: Owner) -> str:
    """That a run is held, in a sentence."""
    return f"run {run} is held by {holder}; wait for it or stop it"
