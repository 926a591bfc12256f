"""How it stands with the models, as the record keeps it: what a call may cost before it is made,
and what became of one that brought no reply.
"""

from dataclasses import asdict, replace
from datetime import datetime

from controller.core.budget import lost, unanswered
from controller.core.head import Asking, Head, Lease, Reserved
from controller.core.patience import afresh
from controller.core.ports import Missed
from controller.store import rows
from controller.store.ledger import keep, note, row_of
from controller.store.writes import Writes


def reserve(writes: Writes, lease: Lease, asking: Asking, why: str, now: datetime) -> None:
    """Write down whom is asked and what it may cost at the worst; `why` is there when it is
    somebody else than last time.
    """
    with writes.writing(lease.run) if why else writes.tables.transaction():
        row = writes.own(lease)
        head = rows.head_of(row.head)
        writes.advance(row, replace(head, asking=asking), now)
        if why:
            note(writes.tables, lease.run, "switched", now, {
                "version": head.version, "step": head.spent.steps, "from": head.asking.model,
                "model": asking.model, "reason": why})


def miss(writes: Writes, lease: Lease, missed: Missed, now: datetime) -> Head:
    """Write down a call without a reply, and what is done about it."""
    said = missed.miss
    with writes.writing(lease.run):
        row = writes.own(lease)
        head = rows.head_of(row.head)
        after = replace(head, asking=missed.asking, spent=unanswered(
            head.spent, said.usage, missed.usd, head.asking.reserved or Reserved(),
            billed=said.billed))
        if said.body:
            keep(writes.tables, said.body)
        writes.advance(row, after, now)
        note(writes.tables, lease.run, "unanswered", now, {
            "version": head.version, "step": head.spent.steps, "model": head.asking.model,
            "miss": said.kind, "reason": missed.reason, "words": said.words[:1000],
            "billed": said.billed, "usage": asdict(said.usage), "usd": missed.usd,
            "begun": missed.begun.isoformat(), "prompt_bytes": missed.sent,
            "until": rows.moment_json(missed.until)})
    return after


def again(writes: Writes, lease: Lease, now: datetime) -> Head:
    """What a controller begins with: a call that was under way when the last one died counts at its
    worst, and models that were set aside for good get another chance.
    """
    before = rows.head_of(row_of(writes.tables, lease.run).head)
    if afresh(before.asking) == before.asking:
        return before
    with writes.writing(lease.run):
        row = writes.own(lease)
        head = rows.head_of(row.head)
        after, reserved = replace(head, asking=afresh(head.asking)), head.asking.reserved
        if reserved:
            after = replace(after, spent=lost(head.spent, reserved))
            note(writes.tables, lease.run, "lost", now, {
                "version": head.version, "step": head.spent.steps, "model": head.asking.model,
                "usd": reserved.usd or None,
                "reason": "a model call was under way when the controller died: it counts at its "
                          f"worst, {reserved.input + reserved.output} tokens and "
                          f"${reserved.usd:.4f}"})
        writes.advance(row, after, now)
    return after
