"""Model calls in the record: their bytes as artifacts, their price, and the grants of people."""

from dataclasses import replace

from controller.core.budget import charged
from controller.core.canonical import JsonObject, entries
from controller.core.head import Head, RunId
from controller.core.patience import answered as answered_by
from controller.core.records import Call
from controller.store.effects import call_json
from controller.store.ledger import keep
from controller.store.tables import Tables


def keep_call(tables: Tables, call: Call) -> None:
    """Keep the bytes of a call. A granted one was kept when it was made."""
    if call.grant is None:
        for data in (call.prompt.stable.encode(), call.prompt.volatile.encode(), call.reply.body):
            keep(tables, data)


def recorded(tables: Tables, run: RunId, call: Call) -> JsonObject:
    """The call as it is kept. A granted one was kept when it was made."""
    for row in tables.confirmations(run) if call.grant else ():
        if row.id == call.grant:
            return {**entries(row.body["call"]), "grant": call.grant}
    return call_json(call)


def use(tables: Tables, run: RunId, call: Call) -> None:
    """A grant is for once, whatever came of it."""
    if call.grant:
        answered(tables, run, call.grant)


def answered(tables: Tables, run: RunId, question: str) -> None:
    """A question to a person is done with."""
    for row in tables.confirmations(run):
        if row.id == question:
            tables.put_confirmation(replace(row, status="used"))


def drop(tables: Tables, run: RunId) -> None:
    """Nobody needs an answer to what is open: the run is at another point now."""
    for row in tables.confirmations(run):
        if row.status != "used":
            tables.put_confirmation(replace(row, status="used"))


def charge(head: Head, call: Call) -> Head:
    """The head with this call paid for, and its model free. A granted one was paid for when it was
    made.
    """
    if call.grant:
        return head
    return replace(head, spent=charged(head.spent, call),
                   asking=answered_by(head.asking, call.model, call.at))
