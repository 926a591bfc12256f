"""The durable record, read. Nothing here writes, and nothing reaches a prompt but by `recall`."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from controller.core.canonical import JsonObject, entries, members
from controller.core.evidence import measured_of
from controller.core.head import Head, Launch, Owner, RunId
from controller.core.records import Measured
from controller.store.ledger import row_of, unknown
from controller.store.rows import first_break, head_of, launch_of, owner_of
from controller.store.tables import Tables


@dataclass(frozen=True, slots=True)
class Queries:
    """Readings of the durable record over some tables."""

    tables: Tables

    def runs(self) -> tuple[RunId, ...]:
        return tuple(RunId(run) for run in self.tables.runs())

    def launch(self, run: RunId) -> Launch:
        found = self.tables.launch(run)
        if found is None:
            raise unknown(run)
        return launch_of(found)

    def head(self, run: RunId) -> Head:
        """The last committed point of a run."""
        return head_of(row_of(self.tables, run).head)

    def audit(self, run: RunId, after: int = 0) -> Iterator[JsonObject]:
        for row in self.tables.audit(run, after):
            yield {**row.body, "hash": row.hash}

    def latest(self, run: RunId, count: int) -> tuple[JsonObject, ...]:
        return tuple(self.audit(run, max(0, self.tables.last_number(run) - count)))

    def last_number(self, run: RunId) -> int:
        """The number of the newest audit record; 0 when there is none."""
        return self.tables.last_number(run)

    def artifact(self, digest: str) -> bytes | None:
        return self.tables.artifact(digest)

    def item(self, run: RunId, id: str) -> str:
        from controller.core.governed import items, said
        from controller.store.contracts import document

        found = document(self.tables, run)
        return next((said(item) for _, item in items(found) if item["id"] == id), ""
                    ) if "last" in found else ""

    def confirmations(self, run: RunId) -> tuple[JsonObject, ...]:
        return tuple({"id": row.id, "status": row.status, **row.body}
                     for row in self.tables.confirmations(run))

    def questions(self, run: RunId) -> tuple[JsonObject, ...]:
        """The confirmations that nobody has answered yet, oldest first."""
        return tuple(item for item in self.confirmations(run) if item["status"] == "open")

    def holder(self, run: RunId) -> Owner | None:
        holder = row_of(self.tables, run).holder
        return owner_of(holder) if holder else None

    def held_until(self, run: RunId) -> datetime | None:
        """When the run's lease runs out, unless its holder renews it."""
        until = row_of(self.tables, run).until
        return datetime.fromisoformat(until) if until else None

    def effect(self, run: RunId) -> JsonObject | None:
        """The effect that is begun and not settled, as it is kept."""
        return self.tables.effect(run)

    def evidence(self, run: RunId, subject: str) -> Iterator[JsonObject]:
        """Every piece of evidence about a subject, oldest first, with its step."""
        for record in self.audit(run):
            for item in _evidence_of(record):
                if item["subject"] == subject:
                    yield {"step": record.get("step", 0), **item}

    def evidence_called(self, id: str) -> JsonObject | None:
        """The piece of evidence whose id begins so, from the audit trail of whichever run has it.
        """
        return next((item for run in self.runs() for record in self.audit(run)
                     for item in _evidence_of(record)
                     if str(item.get("id", "")).startswith(id)), None)

    def measured_on_base(self, run: RunId, key: str, base: str) -> Measured | None:
        """How a check, by its key, was made of the base, a Git commit, when it was: in this run, or
        in the one that it was forked from.
        """
        for record in self.audit(run):
            for item in _evidence_of(record):
                said = entries(item.get("measured"))
                if (said.get("key"), said.get("commit")) == (key, base):
                    return measured_of(item, self.artifact)
            origin = entries(record.get("from")).get("run")
            if isinstance(origin, str) and self.tables.run(origin):
                return self.measured_on_base(RunId(origin), key, base)
        return None

    def broken_link(self, run: RunId) -> int | None:
        """The number of the first audit record whose hash does not follow; None when all do."""
        return first_break(self.tables.audit(run, 0))


def _evidence_of(record: JsonObject) -> Iterator[JsonObject]:
    """The pieces of evidence that a record of the audit trail keeps."""
    return map(entries, members(record.get("evidence")))
