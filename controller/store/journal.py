"""The verbs of the durable record. One verb, one transaction, and every write is a compare-and-set.

    create → lease → (begin → commit | doubt) | refuse | park | stop      find: of an open effect

A write holds the database's one write lock from its first read on, so checking the lease's token
and the head's version, and then writing, is one step.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from controller.core.action import Amend, Commit, Restore, touched
from controller.core.aim import Aim
from controller.core.approval import Seal
from controller.core.budget import performed, refused, rested
from controller.core.canonical import JsonObject, canonical, digest, digest_bytes, entries
from controller.core.errors import StaleHead, StateError
from controller.core.evidence import evidence_artifacts, evidence_json
from controller.core.facts import Facts
from controller.core.head import (
    Asking,
    Head,
    Launch,
    Lease,
    Owner,
    RunId,
    Stop,
    Stopped,
)
from controller.core.observation import whole
from controller.core.ports import Alive, Missed
from controller.core.progress import nudge
from controller.core.projection import corrected, tree_of
from controller.core.records import (
    Call,
    Candidate,
    Effect,
    Evidence,
    Outcome,
    Question,
    Remains,
    Step,
    effect_id,
)
from controller.core.verdict import Verdict
from controller.store import asked, calls, doubts, effects, queue, rows
from controller.store.inbox import Inbox
from controller.store.leases import LEASE, Held
from controller.store.ledger import keep, note, row_of
from controller.store.tables import RunRow, Tables
from controller.store.writes import Writes


@dataclass(frozen=True, slots=True)
class Journal:
    """The durable record over some tables.

    `alive` tells whether the holder of a lease still is; `written` is called after each verb that
    made an audit record, for whoever follows the run.
    """

    tables: Tables
    alive: Alive
    seal: Seal
    written: Callable[[RunId], None] = lambda run: None

    @property
    def inbox(self) -> Inbox:
        """What people have left for the runs."""
        return Inbox(self.tables, self.seal, self._writes)

    @property
    def _writes(self) -> Writes:
        return Writes(self.tables, self.written)

    def create(self, launch: Launch, head: Head, baseline: tuple[Evidence, ...],
               origin: JsonObject | None = None) -> None:
        with self._writes.writing(launch.run):
            if self.tables.run(launch.run):
                raise StateError(f"there is a run {launch.run} already")
            self.tables.create_run(RunRow(launch.run, rows.head_json(head)),
                                   rows.launch_json(launch))
            note(self.tables, launch.run, "created", launch.at, {
                "version": head.version, "goal": launch.goal, "base": launch.base,
                "documents": digest(launch.documents), "observation": head.observation,
                "state": digest(head.state), **({"from": origin} if origin else {}),
                "outcome": {"status": "done", "tree": tree_of(head.state), "extras": head.extras},
                "evidence": [evidence_json(item) for item in baseline]})
            for data in (canonical(head.state), *evidence_artifacts(baseline)):
                keep(self.tables, data)

    def lease(self, run: RunId, owner: Owner, now: datetime) -> Held:
        return Held(self.tables, self.alive, run, owner, now)

    def head(self, run: RunId) -> Head:
        return rows.head_of(row_of(self.tables, run).head)

    def open_effect(self, run: RunId) -> Effect | None:
        row = self.tables.effect(run)
        return effects.effect_of(row, self.head(run)) if row else None

    def check(self, lease: Lease) -> None:
        """Raise LeaseLost when somebody else has taken the run over."""
        self._writes.own(lease)

    def renew(self, lease: Lease, now: datetime) -> None:
        with self.tables.transaction():
            row = self._writes.own(lease)
            self.tables.put_run(replace(row, until=(now + LEASE).isoformat()))

    def begin(self, lease: Lease, candidate: Candidate, aim: Aim, facts: Facts,
              call: Call | None, closing: Effect | None = None) -> Effect:
        with self.tables.transaction():
            row = self._writes.held(lease, candidate.base.version)
            found = self.tables.effect(lease.run)
            if found and (closing is None or found["id"] != closing.id):
                raise StateError(f"run {lease.run} has an open effect; conclude it first")
            if closing:
                self._abandon(lease, closing, facts.now)
            head = candidate.base
            if call:
                head = calls.charge(head, call)
                calls.keep_call(self.tables, call)
                calls.use(self.tables, lease.run, call)
            effect = Effect(effect_id(lease.run, head.version, candidate.transition),
                            replace(candidate, base=head), aim, facts.source, facts.now,
                            lease.token, _paths(candidate, facts), call.grant if call else None)
            self.tables.put_effect(lease.run, effects.effect_json(
                effect, calls.recorded(self.tables, lease.run, call) if call else {}))
            self._writes.advance(row, head, facts.now)  # as it was shown: the base of the effect
        return effect

    def refuse(self, lease: Lease, head: Head, verdicts: tuple[Verdict, ...], call: Call,
               now: datetime) -> Head:
        objections = "\n".join(f"- {objection}" for verdict in verdicts
                               for objection in verdict.objections)
        word = nudge(head.turns)
        told = corrected(head, "\n".join(filter(None, (
            "Your answer was refused, and nothing happened:", objections, word))))
        after = calls.charge(told, call)
        after = replace(after, spent=refused(after.spent))
        with self._writes.writing(lease.run):
            row = self._writes.held(lease, head.version)
            calls.keep_call(self.tables, call)
            calls.use(self.tables, lease.run, call)
            self._writes.advance(row, after, now)
            note(self.tables, lease.run, "refused", now, {
                "version": head.version, "step": after.spent.steps,
                "call": calls.recorded(self.tables, lease.run, call),
                "verdicts": effects.verdicts_json(verdicts),
                "observation": whole(after.observation, after.before)})
        return after

    def park(self, lease: Lease, candidate: Candidate, verdicts: tuple[Verdict, ...],
             call: Call, question: Question, now: datetime) -> Head:
        head = calls.charge(candidate.base, call)
        spent = head.spent
        with self._writes.writing(lease.run):
            row = self._writes.held(lease, head.version)
            calls.keep_call(self.tables, call)
            recorded = calls.recorded(self.tables, lease.run, call)
            id = queue.pose(self.tables, lease.run, question, spent.steps, now, call)
            after = queue.parked(head, question, id)
            after = replace(after, state=queue.shown(self.tables, after))
            self._writes.advance(row, after, now)
            note(self.tables, lease.run, "parked", now, {
                "version": head.version, "step": spent.steps, "call": recorded,
                "confirmation": id, "action": candidate.transition.document["action"],
                "kept": question.body["kept"], "again": question.again,
                "verdicts": effects.verdicts_json(verdicts)})
        return after

    def _abandon(self, lease: Lease, effect: Effect, now: datetime) -> None:
        note(self.tables, lease.run, "abandoned", now, {
            "version": effect.candidate.base.version, "step": effect.candidate.base.spent.steps,
            **effects.told_json(effect)})

    def find(self, lease: Lease, effect: Effect, remains: Remains, now: datetime) -> Remains:
        return doubts.find(self._writes, self.seal, lease, effect, remains, now)

    def doubt(self, lease: Lease, effect: Effect, outcome: Outcome, state: JsonObject,
              now: datetime) -> Head:
        return doubts.doubt(self._writes, lease, effect, outcome, state, now)

    def commit(self, lease: Lease, step: Step, now: datetime) -> Head:
        base, action = step.effect.candidate.base, step.effect.candidate.transition.action
        after = Head(base.run, base.version + 1, step.state, step.observation, step.before,
                     performed(base.spent),
                     base.heard if step.heard is None else step.heard, step.outcome.source.extras,
                     step.stopped, base.exposed or step.outcome.exposed,
                     action.version if isinstance(action, Amend) else base.contract,
                     step.marks, base.schema, base.asking, step.turns)
        with self._writes.writing(lease.run):
            row = self._writes.held(lease, base.version)
            effect = self.tables.effect(lease.run)
            if effect is None or effect["id"] != step.effect.id:
                raise StaleHead(f"effect {step.effect.id} of run {lease.run} is settled already")
            gone = canonical(step.evicted) if step.evicted else b""
            for data in (step.outcome.output, gone, *evidence_artifacts(step.evidence)):
                keep(self.tables, data)
            id = ""
            if step.question:
                id = queue.pose(self.tables, lease.run, step.question, base.spent.steps, now)
                after = replace(after, state=queue.shown(self.tables, after))
            self.tables.put_effect(lease.run, None)
            doubts.settled(self.tables, step.effect)
            if isinstance(action, Restore) or (
                    step.stopped and step.stopped.why is Stop.FINISHED):
                calls.drop(self.tables, lease.run)
            state = keep(self.tables, canonical(after.state))
            self._writes.advance(row, after, now)
            note(self.tables, lease.run, "committed", now, effects.step_json(
                step, after, entries(effect["call"]), state, id))
        return after

    def migrate(self, lease: Lease, head: Head, schema: JsonObject, now: datetime) -> Head:
        """Advance the head by one, with its state under another schema; what it was is kept."""
        after = replace(head, version=head.version + 1,
                        schema=digest_bytes(canonical(schema)))
        with self._writes.writing(lease.run):
            row = self._writes.held(lease, head.version)
            if self.tables.effect(lease.run):
                raise StateError(f"run {lease.run} has an open effect; conclude it first")
            keep(self.tables, canonical(schema))
            state = keep(self.tables, canonical(after.state))
            self._writes.advance(row, after, now)
            note(self.tables, lease.run, "migrated", now, {
                "version": after.version, "step": after.spent.steps, "state": state,
                "schema_digest": after.schema,
                "observation": whole(after.observation, after.before),
                "outcome": {"status": "done", "tree": tree_of(after.state),
                            "extras": after.extras}})
        return after

    def reserve(self, lease: Lease, asking: Asking, why: str, now: datetime) -> None:
        asked.reserve(self._writes, lease, asking, why, now)

    def miss(self, lease: Lease, missed: Missed, now: datetime) -> Head:
        return asked.miss(self._writes, lease, missed, now)

    def again(self, lease: Lease, now: datetime) -> Head:
        return asked.again(self._writes, lease, now)

    def stop(self, lease: Lease, stopped: Stopped | None, now: datetime) -> Head:
        with self._writes.writing(lease.run):
            head = self.head(lease.run)
            after = replace(head if stopped else rested(head), stopped=stopped)
            if stopped and stopped.why is Stop.ABORTED:
                calls.drop(self.tables, lease.run)
            self._writes.advance(self._writes.held(lease, head.version), after, now)
            note(self.tables, lease.run, "stopped" if stopped else "resumed", now, {
                "version": head.version, "step": head.spent.steps,
                "stopped": rows.stopped_json(stopped or head.stopped),
                "before": rows.stopped_json(head.stopped)})
        return after


def _paths(candidate: Candidate, facts: Facts) -> tuple[str, ...]:
    action = candidate.transition.action
    return tuple(sorted(facts.changed)) if isinstance(action, Commit) else touched(action)
