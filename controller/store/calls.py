"""Model calls in the record: their bytes as artifacts, their price, and the grants of people."""

from dataclasses import replace

from controller.core.budget import charged
from controller.core.canonical import JsonObject, entries
from controller.core.head import Head, RunId, Spent
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


def charge(head: Head, call: Call) -> Spent:
    """What the run has spent with this call. A granted one was paid for when it was made."""
    return head.spent if call.grant else charged(head.spent, call.reply.usage)
