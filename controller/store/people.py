"""What people write into the record of a run: messages, answers, changes of its contract.

No lease is needed for it: what they say is taken in at the next step. Every answer is signed.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from controller.core.approval import Seal, answer, binding_json, expired
from controller.core.canonical import JsonObject, digest, entries
from controller.core.conflict import contradicted
from controller.core.contract import Item
from controller.core.errors import SetupError
from controller.core.governed import Change
from controller.core.head import Head, RunId, Stop, Wish
from controller.core.records import Binding, Question
from controller.core.terms import contract_of
from controller.store import contracts, queue, rows
from controller.store.ledger import note, row_of
from controller.store.tables import ConfirmationRow, RunRow, Tables

_WEEK = 7 * 86400  # seconds


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people leave messages for a run and answer its questions. `by`: who writes here."""

    tables: Tables
    seal: Seal
    by: str = "user"

    def say(self, run: RunId, text: str, now: datetime) -> str:
        """Leave a message for the next step; returns "". One that contradicts what is locked is put
        before the user first: returns the id of the question.

        Raises SetupError for a run that is over.
        """
        with self.tables.transaction():
            row = self._row(run)
            against = contradicted(text, contract_of(contracts.document(self.tables, run)))
            if against:
                return self._conflict(run, text, against, rows.head_of(row.head), now)
            self._say(row, text, now)
            for asked in queue.open_rows(self.tables, run):
                if asked.body["kind"] == "question":
                    self.tables.put_confirmation(replace(asked, status="used"))
                    self._wake(row)
        return ""

    def reply(self, run: RunId, question: str, text: str, now: datetime) -> None:
        """Answer a question of the model's. Raises SetupError when there is nothing to answer."""
        with self.tables.transaction():
            row = self._row(run)
            asked = self._open(run, question, ("question",))
            self._say(row, f"In answer to your question ({asked.body['summary']}): {text}", now)
            self.tables.put_confirmation(replace(asked, status="used"))
            self._wake(row)

    def answer(self, run: RunId, confirmation: str, *, approve: bool, reason: str,
               now: datetime, how: str = "command line") -> None:
        """Answer what waits for a person. A change of the contract that is approved is made.

        Raises SetupError when there is nothing to answer, or it is too late.
        """
        if approve:
            self._bring_up(run, confirmation, now)
        with self.tables.transaction():
            row = self._row(run)
            asked = self._open(run, confirmation, (*queue.ACTIONS, "change", "conflict"))
            if approve and expired(asked.body, now):
                raise SetupError(f"{confirmation} could be answered until {asked.body['expires']};"
                                 " `oneshot resume` asks it again")
            if asked.body["kind"] in ("change", "conflict"):
                self._change(run, asked, now, approve=approve, reason=reason)
            self._answered(asked, "approved" if approve else "declined", reason, now, how)
            self._wake(row)

    def decide(self, run: RunId, question: str, *, happened: bool, now: datetime,
               how: str = "command line") -> None:
        """Say whether an effect of unknown outcome happened. Raises SetupError when none is."""
        with self.tables.transaction():
            row = self._row(run)
            asked = self._open(run, question, ("unknown",))
            self._answered(asked, "approved" if happened else "declined", "", now, how)
            self._wake(row)

    def wish(self, run: RunId, wanted: Wish, now: datetime) -> None:
        """Leave a wish for the controller that is at work; it is looked at between two steps."""
        with self.tables.transaction():
            row = self._row(run)
            self.tables.put_run(replace(row, wish=wanted.value))
            note(self.tables, run, "wish", now, {"text": wanted.value or "go on", "by": self.by})

    def amend(self, run: RunId, change: Change) -> int:
        """Change the contract: the number of the version that the next step begins under.

        Raises SetupError for what can't be changed so.
        """
        with self.tables.transaction():
            self._row(run)
            return contracts.amend(self.tables, self.seal, run, change, self.by)

    def remote(self, run: RunId, id: str, token: str, *, way: str, approve: bool, reason: str,
               now: datetime, how: str) -> str:
        """Take an answer that came from elsewhere with a question's token, which is good once and
        for the `way` by which it was sent.

        Returns why it counts for nothing, which is recorded; empty: it is taken.
        """
        asked = next((row for row in self.tables.confirmations(run) if row.id == id), None)
        why = self._unfit(run, asked, token, way, now)
        if why or asked is None:
            with self.tables.transaction():
                note(self.tables, run, "answer refused", now, {
                    "confirmation": id, "text": f"{how}: {why}"})
            return why
        if asked.body["kind"] == "unknown":
            self.decide(run, id, happened=approve, now=now, how=how)
        elif asked.body["kind"] == "question":
            self.reply(run, id, reason or ("yes" if approve else "no"), now)
        else:
            self.answer(run, id, approve=approve, reason=reason, now=now, how=how)
        return ""

    def _unfit(self, run: RunId, asked: ConfirmationRow | None, token: str, way: str,
               now: datetime) -> str:
        if asked is None:
            return "there is no such question in this run"
        if asked.status != "open":
            return "it is answered already; a token is good once"
        if not self.seal.admits(token, run, asked.id, asked.body, way):
            return "the token is not this question's, or was given for what it asked before"
        return "it has expired" if expired(asked.body, now) else ""

    def _answered(self, asked: ConfirmationRow, decision: str, reason: str, now: datetime,
                  how: str) -> None:
        run = RunId(asked.run)
        said = answer(self.seal, run, asked.id, asked.body, decision=decision,
                      by=f"{self.by}, {how}", reason=reason, at=now)
        self.tables.put_confirmation(replace(
            asked, status=decision, body={**asked.body, "answer": said}))
        kind = "decided" if asked.body["kind"] == "unknown" else decision
        note(self.tables, run, kind, now, {
            "version": rows.head_of(row_of(self.tables, run).head).version,
            "confirmation": asked.id, "reason": reason, "by": said["by"],
            **({"happened": decision == "approved"} if kind == "decided" else {})})

    def _bring_up(self, run: RunId, id: str, now: datetime) -> None:
        """Ask again about a change of a contract that has another version by now. Raises SetupError
        that says so: what is approved is what was looked at.
        """
        newest = contracts.version(self.tables, run)
        with self.tables.transaction():
            asked = next((row for row in queue.open_rows(self.tables, run)
                          if row.id == id and row.body["kind"] in ("change", "conflict")), None)
            binding = entries(asked.body.get("binding")) if asked else {}
            if asked is None or binding["version"] == newest:
                return
            self.tables.put_confirmation(replace(asked, body={
                **asked.body, "binding": {**binding, "version": newest}}))
            note(self.tables, run, "asked again", now, {
                "confirmation": id, "text": "the contract has changed since"})
        raise SetupError(f"{id} was asked about version {binding['version']} of the contract, which"
                         f" is at {newest} now; look at it again (`oneshot approvals {id}`) and "
                         "answer once more")

    def _change(self, run: RunId, asked: ConfirmationRow, now: datetime, *, approve: bool,
                reason: str) -> None:
        """What an answer does to the contract."""
        if approve:
            wish = entries(asked.body["change"])
            contracts.amend(self.tables, self.seal, run, contracts.by_user(
                str(wish["op"]), str(wish["target"]), wish["value"],
                f"{self.by} ({asked.id}{': ' + reason if reason else ''})", now), self.by)
        elif asked.body["kind"] == "conflict":
            note(self.tables, run, "unsaid", now, {"text": str(asked.body["text"])})

    def _conflict(self, run: RunId, text: str, against: Item, head: Head, now: datetime) -> str:
        change: JsonObject = {"op": "amend", "target": against.id, "value": text}
        binding = Binding(digest(change), contracts.version(self.tables, run), "", "")
        question = Question(
            "conflict", f"{text!r} seems to contradict {against.id}: {against.text!r}", binding,
            _WEEK, False, {"change": change, "text": text, "against": against.text})
        id = queue.pose(self.tables, run, question, head.spent.steps, now)
        note(self.tables, run, "conflict", now, {
            "confirmation": id, "text": text, "against": against.id,
            "binding": binding_json(binding)})
        return id

    def _say(self, row: RunRow, text: str, now: datetime) -> None:
        message = self.tables.put_message(row.run, text, now.isoformat())
        note(self.tables, row.run, "said", now, {"message": message, "text": text, "by": self.by})

    def _row(self, run: RunId) -> RunRow:
        row = row_of(self.tables, run)
        stopped = rows.head_of(row.head).stopped
        if stopped is not None and stopped.why in _OVER:
            raise SetupError(f"run {run} {_OVER[stopped.why]}; nobody would hear it")
        return row

    def _open(self, run: RunId, id: str, kinds: tuple[str, ...]) -> ConfirmationRow:
        for row in queue.open_rows(self.tables, run):
            if row.id == id:
                if row.body["kind"] in kinds:
                    return row
                raise SetupError(f"{id} is to be answered with "
                                 f"{_ANSWERED_BY[str(row.body['kind'])]}")
        raise SetupError(f"run {run} has no open confirmation {id}; "
                         "`oneshot approvals` lists what waits")

    def _wake(self, row: RunRow) -> None:
        """Let a run that waits for a person go on, unless he is to answer something else first.
        What he said is taken in by its next step.
        """
        head = rows.head_of(row.head)
        left = any(other.body.get("stops", True)
                   for other in queue.open_rows(self.tables, RunId(row.run)))
        if head.stopped and head.stopped.why is Stop.WAITING and not left:
            self.tables.put_run(replace(row, head=rows.head_json(replace(head, stopped=None))))


_OVER = {Stop.FINISHED: "is finished", Stop.ABORTED: "was ended",
         Stop.MOVED: "goes on elsewhere"}

_ANSWERED_BY = {
    "action": "`oneshot approve` or `oneshot deny`", "question": "`oneshot answer`",
    "criterion": "`oneshot approve` or `oneshot deny`", "unknown": "`oneshot decide`",
    "change": "`oneshot approve` or `oneshot deny`",
    "conflict": "`oneshot approve` or `oneshot deny`"}
