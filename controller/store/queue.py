"""The confirmation queue: questions to people, and what became of them.

    open → approved | declined → used        An answer that counts for nothing opens it again.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from controller.core.approval import Seal, binding_json, binding_of, expired, fault
from controller.core.canonical import JsonObject, entries, members
from controller.core.head import Head, RunId, Stop, Stopped
from controller.core.observation import first_line
from controller.core.parse import parse
from controller.core.projection import MOST_WAITING, corrected, subject, told, waiting
from controller.core.projection import answered as with_answer
from controller.core.records import Call, Question
from controller.store import effects
from controller.store.ledger import note
from controller.store.rows import int_in
from controller.store.tables import ConfirmationRow, Tables

ACTIONS = ("action", "criterion")
"""Kinds of questions about a candidate that waits."""

_LETTERS = {"action": "c", "criterion": "c", "question": "q", "change": "r", "conflict": "x"}


def pose(tables: Tables, run: RunId, question: Question, step: int, now: datetime,
         call: Call | None = None) -> str:
    """Put a question into the queue, or once more under the id that its call has: its id."""
    letter = _LETTERS[question.kind]
    id = call.grant if call and call.grant else _free(tables, run, f"{letter}{step}")
    known = next((row.body for row in tables.confirmations(run) if row.id == id), {})
    kept: JsonObject = {"call": known.get("call") or (effects.call_json(call) if call else None)}
    tables.put_confirmation(ConfirmationRow(run, id, "open", {
        "kind": question.kind, "summary": question.summary,
        "binding": binding_json(question.binding), **_open_for(question.expires, now),
        "step": step, "asked": now.isoformat(), "again": question.again, "stops": question.stops,
        **question.body,
        **(kept if call else {})}))
    return id


def attend(tables: Tables, seal: Seal, run: RunId, head: Head, now: datetime) -> Head:
    """The head with what people have answered: each answer is taken in once, and if it counts."""
    for row in tables.pending(run):
        if row.status not in ("approved", "declined") or row.body["kind"] == "unknown":
            continue
        why = fault(seal, run, row.id, row.body, now)
        if why:
            head = _again(tables, row, head, why, now)
        elif row.status == "declined" or row.body["kind"] not in ACTIONS:
            head = _taken_in(head, row)
            tables.put_confirmation(replace(row, status="used"))
    return replace(head, state=shown(tables, head))


def parked(head: Head, question: Question, id: str) -> Head:
    """The head after a candidate was parked: the run waits, or the model is told to go on."""
    why = f" ({question.again}, so it is asked again)" if question.again else ""
    if question.stops:
        return replace(head, stopped=Stopped(
            Stop.WAITING, f"a person must answer {id}{why}: {question.summary}"))
    reasons = "\n".join(f"- {reason}" for reason in members(question.body["reasons"]))
    return corrected(head, f"Your action waits for a person as {id} and was not done; your patch "
                     "was not applied. Do other work, or `wait` if there is none:\n" + reasons)


def shown(tables: Tables, head: Head) -> JsonObject:
    """The head's state with what waits for a person."""
    return waiting(head.state, _shown(tables, head.run))


def answered(tables: Tables, run: RunId) -> bool:
    """Whether there is an answer that was not taken in, or not used."""
    return any(row.status in ("approved", "declined") for row in tables.pending(run))


def settled(tables: Tables, head: Head) -> bool:
    """Whether the head shows what is open."""
    return shown(tables, head) is head.state


def overdue(tables: Tables, run: RunId, now: datetime) -> tuple[ConfirmationRow, ...]:
    """What nobody has answered in time."""
    return tuple(row for row in open_rows(tables, run) if expired(row.body, now))


def remind(tables: Tables, run: RunId, now: datetime) -> None:
    """Open again, for as long as before, what nobody has answered in time."""
    for row in overdue(tables, run, now):
        tables.put_confirmation(replace(row, body={
            **row.body, **_open_for(_lasts(row), now)}))
        note(tables, run, "asked again", now, {"confirmation": row.id, "text": "it has expired"})


def granted(tables: Tables, run: RunId) -> Call | None:
    """The call whose candidate a person has allowed; `attend` has looked at the answer."""
    for row in tables.pending(run):
        call = row.body.get("call")
        if row.status == "approved" and row.body["kind"] in ACTIONS and isinstance(call, dict):
            reply = tables.artifact(str(call["reply"]))
            found = effects.call_of(call, run, reply or b"", row.id)
            return replace(found, bound=binding_of(row.body))
    return None


def open_rows(tables: Tables, run: RunId) -> tuple[ConfirmationRow, ...]:
    """What nobody has answered yet."""
    return tuple(row for row in tables.pending(run) if row.status == "open")


def _lasts(row: ConfirmationRow) -> int:
    """How long a question is open; those of before 0.2 said nothing."""
    return int_in(row.body.get("lasts", 7 * 86400))


def _open_for(seconds: int, now: datetime) -> JsonObject:
    return {"lasts": seconds, "expires": (now + timedelta(seconds=seconds)).isoformat()}


def _free(tables: Tables, run: RunId, id: str) -> str:
    """The id, or the first of id-2, id-3, … that is not taken."""
    taken = {row.id for row in tables.confirmations(run)}
    number = 2
    wanted = id
    while wanted in taken:
        wanted, number = f"{id}-{number}", number + 1
    return wanted


def _again(tables: Tables, row: ConfirmationRow, head: Head, why: str, now: datetime) -> Head:
    """An answer that counts for nothing: recorded, and the question is open as before."""
    body = {key: value for key, value in row.body.items() if key != "answer"}
    tables.put_confirmation(replace(row, status="open", body={
        **body, **_open_for(_lasts(row), now)}))
    note(tables, row.run, "answer refused", now, {"confirmation": row.id, "text": why})
    return replace(head, stopped=Stopped(
        Stop.WAITING, f"a person must answer {row.id} again ({why}): {row.body['summary']}"))


def _taken_in(head: Head, row: ConfirmationRow) -> Head:
    said = entries(row.body["answer"])
    summary, reason = str(row.body["summary"]), str(said["reason"])
    yes = row.status == "approved"
    if row.body["kind"] not in ACTIONS:
        word = "granted" if yes else "declined"
        return told(head, f"A person has {word} this ({row.id}): {summary}"
                    + f"\nThe reason: {reason}" * bool(reason))
    action = parse(entries(row.body["action"]))
    after = corrected(head, f"A person declined your action ({summary}):\n"
                      + (reason or "no reason given; choose another way"))
    return replace(after, state={**head.state, "confirmations": with_answer(
        head.state, row.id, action, "declined")})


def _shown(tables: Tables, run: RunId) -> JsonObject:
    """What Σ shows of the queue: what is open, a line each."""
    return {row.id: {"kind": row.body["kind"], "summary": first_line(str(row.body["summary"])),
                     "step": row.body.get("step", 0), "subject": subject(entries(
                         row.body.get("action")))}
            for row in open_rows(tables, run)[-MOST_WAITING:]}
