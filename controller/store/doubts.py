"""Effects that were found open, and those of which nobody can say whether they happened."""

from dataclasses import replace
from datetime import datetime

from controller.core.action import EffectClass, identity
from controller.core.approval import Seal, binding_json, fault
from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.head import Head, Lease, Stop, Stopped
from controller.core.observation import first_line
from controller.core.records import Binding, Effect, Outcome, Remains
from controller.store import calls, effects, rows
from controller.store.ledger import ask, note, row_of
from controller.store.tables import ConfirmationRow, Tables
from controller.store.writes import Writes


def find(writes: Writes, seal: Seal, lease: Lease, effect: Effect, remains: Remains,
         now: datetime) -> Remains:
    """Record what is left of an open effect; a person's word counts where the world can't tell."""
    asked, tables = _doubtful(effect), writes.tables
    with writes.writing(lease.run):
        head = rows.head_of(writes.own(lease).head)
        external = effect.aim.effect_class is EffectClass.EXTERNAL
        for row in tables.confirmations(lease.run) if external else ():
            if (row.id == asked and remains.happened is None and _is_about(row, effect)
                    and not fault(seal, lease.run, row.id, row.body, now)):
                remains = _SAID[row.status]
                if not remains.happened:  # it is done again now, so that was said of what was
                    calls.answered(tables, lease.run, asked)
        note(tables, lease.run, "found", now, {
            "version": head.version, "step": head.spent.steps, **effects.told_json(effect),
            "happened": remains.happened, "text": remains.text})
    return remains


def doubt(writes: Writes, lease: Lease, effect: Effect, outcome: Outcome, state: JsonObject,
          now: datetime) -> Head:
    """Let the run wait for a person who says whether an effect happened; it stays open."""
    asked, tables = _doubtful(effect), writes.tables
    summary = first_line(identity(effect.candidate.transition.action))
    head = rows.head_of(row_of(tables, lease.run).head)
    after = replace(head, state=state, stopped=Stopped(
        Stop.WAITING, f"a person must say whether this happened ({asked}): {summary}"))
    with writes.writing(lease.run):
        row = writes.held(lease, after.version)
        if not any(row.id == asked and _is_about(row, effect)
                   for row in tables.pending(lease.run)):  # he may have said so meanwhile
            ask(tables, lease.run, asked, "unknown", {
                "summary": summary, "text": outcome.text, "asked": now.isoformat(), "stops": True,
                "binding": binding_json(Binding(
                    effect.id, after.version, effect.source.tree, ""))})
        writes.advance(row, after, now)
        note(tables, lease.run, "unknown", now, {
            "version": after.version, "step": after.spent.steps, "effect": effect.id,
            "outcome": {"status": outcome.status.value, "text": outcome.text}})
    return after


def settled(tables: Tables, effect: Effect) -> None:
    """Nobody needs to say any more whether an effect happened."""
    run = effect.candidate.base.run
    for row in tables.pending(run):
        if row.body["kind"] == "unknown" and _subject(row) == effect.id:
            calls.answered(tables, run, row.id)


def _is_about(row: ConfirmationRow, effect: Effect) -> bool:
    return row.status in _SAID and _subject(row) == effect.id


def _subject(row: ConfirmationRow) -> JsonValue:
    return entries(row.body.get("binding")).get("subject")


_SAID = {"approved": Remains(True, "a person says that it happened"),
         "declined": Remains(False, "a person says that it did not happen")}
"""What a person's answer to the question of an unknown outcome means."""


def _doubtful(effect: Effect) -> str:
    """The id of the question whether an effect happened."""
    return f"u{effect.candidate.base.spent.steps}"
