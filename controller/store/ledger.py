"""The entries that every verb makes: rows found or missed, audit links, artifacts, questions."""

from datetime import datetime

from controller.core.canonical import JsonObject, digest_bytes
from controller.core.errors import StateError
from controller.core.head import RunId
from controller.store.rows import linked
from controller.store.tables import ConfirmationRow, RunRow, Tables


def row_of(tables: Tables, run: RunId) -> RunRow:
    """The row of a run. Raises StateError for an unknown one."""
    row = tables.run(run)
    if row is None:
        raise unknown(run)
    return row


def unknown(run: RunId) -> StateError:
    """That there is no such run."""
    return StateError(f"there is no run {run}; `oneshot status --all` lists what there is")


def note(tables: Tables, run: str, kind: str, at: datetime, body: JsonObject) -> None:
    """Add a link to the run's audit chain."""
    last = tables.last_audit(run)
    tables.put_audit(linked(run, last, {"kind": kind, "at": at.isoformat(), "run": run, **body}))


def keep(tables: Tables, data: bytes) -> str:
    """Keep bytes under their digest, and return it; nothing is kept of nothing."""
    digest = digest_bytes(data)
    if data:
        tables.put_artifact(digest, data)
    return digest


def ask(tables: Tables, run: RunId, id: str, kind: str, body: JsonObject) -> None:
    """Put a question to a person into the confirmation queue."""
    tables.put_confirmation(ConfirmationRow(run, id, "open", {"kind": kind, **body}))
