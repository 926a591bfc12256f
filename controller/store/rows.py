"""Records to JSON and back: the form in which the durable record keeps them."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from controller.core.action import parse
from controller.core.canonical import JsonObject, JsonValue, canonical, digest_bytes, members
from controller.core.records import (
    Call,
    Candidate,
    Effect,
    EffectId,
    Evidence,
    Head,
    Launch,
    Owner,
    Prompt,
    Reply,
    RunId,
    Source,
    Spent,
    Stop,
    Stopped,
    Transition,
    Usage,
)
from controller.core.verdict import Verdict
from controller.store.tables import AuditRow

GENESIS = "0" * 64
"""What the first link of an audit chain follows."""


def head_json(head: Head) -> JsonObject:
    """A head, as schema `head` has it."""
    return {
        "schema": "oneshot/head@1", "run": head.run, "version": head.version, "state": head.state,
        "observation": head.observation, "spent": asdict(head.spent), "heard": head.heard,
        "stopped": stopped_json(head.stopped),
    }


def head_of(row: JsonObject) -> Head:
    """The head that `head_json` wrote."""
    return Head(
        RunId(str(row["run"])), _int(row["version"]), _object(row["state"]),
        str(row["observation"]), Spent(**cast("Any", row["spent"])),  # as asdict wrote it
        _int(row["heard"]), _stopped_of(row["stopped"]))


def stopped_json(stopped: Stopped | None) -> JsonValue:
    """Why a run stands still, or null."""
    return {"why": stopped.why.value, "reason": stopped.reason} if stopped else None


def launch_json(launch: Launch) -> JsonObject:
    """A launch record."""
    return {"run": launch.run, "goal": launch.goal, "base": launch.base,
            "at": launch.at.isoformat(), "documents": launch.documents}


def launch_of(row: JsonObject) -> Launch:
    """The launch that `launch_json` wrote."""
    return Launch(RunId(str(row["run"])), str(row["goal"]), str(row["base"]),
                  datetime.fromisoformat(str(row["at"])), _object(row["documents"]))


def owner_json(owner: Owner) -> JsonObject:
    """The holder of a lease."""
    return {"host": owner.host, "pid": owner.pid, "mark": owner.mark}


def owner_of(row: JsonObject) -> Owner:
    """The holder that `owner_json` wrote."""
    return Owner(str(row["host"]), _int(row["pid"]), str(row["mark"]))


def call_json(call: Call) -> JsonObject:
    """A call without its bytes, which are kept as artifacts under these digests."""
    prompt, reply = call.prompt, call.reply
    return {
        "version": prompt.version, "step": prompt.step, "tree": prompt.tree,
        "stable": digest_bytes(prompt.stable.encode()),
        "volatile": digest_bytes(prompt.volatile.encode()),
        "prompt_bytes": len(prompt.text.encode()),
        "reply": digest_bytes(reply.body), "fault": reply.fault,
        "usage": asdict(reply.usage), "at": call.at.isoformat(), "grant": call.grant,
    }


def call_of(row: JsonObject, run: RunId, reply: bytes, grant: str) -> Call:
    """The call that a person granted. Its prompt is kept apart and is not needed again."""
    prompt = Prompt(run, _int(row["version"]), _int(row["step"]), str(row["tree"]), "", "", {})
    usage = Usage(**cast("Any", row["usage"]))  # as asdict wrote it
    fault = row["fault"]
    return Call(prompt, Reply(reply, usage, fault if isinstance(fault, str) else None),
                datetime.fromisoformat(str(row["at"])), grant)


def effect_json(effect: Effect, call: JsonObject) -> JsonObject:
    """An effect with everything that recovery needs."""
    candidate = effect.candidate
    return {
        "id": effect.id, "token": effect.token, "begun": effect.begun.isoformat(),
        "grant": effect.grant, "paths": list(effect.paths),
        "source": asdict(effect.source), "tree": candidate.tree,
        "document": candidate.transition.document, "state": candidate.state,
        "base": head_json(candidate.base), "call": call,
    }


def effect_of(row: JsonObject) -> Effect:
    """The effect that `effect_json` wrote."""
    document, grant = _object(row["document"]), row["grant"]
    transition = Transition(_int(document["expected_version"]), _object(document["state_patch"]),
                            parse(_object(document["action"])), document)
    candidate = Candidate(head_of(_object(row["base"])), transition, _object(row["state"]),
                          str(row["tree"]))
    return Effect(EffectId(str(row["id"])), candidate,
                  Source(**cast("Any", row["source"])),  # as asdict wrote it
                  datetime.fromisoformat(str(row["begun"])), _int(row["token"]),
                  tuple(map(str, members(row["paths"]))), grant if isinstance(grant, str) else None)


def verdicts_json(verdicts: tuple[Verdict, ...]) -> JsonValue:
    """What every gate answered."""
    return [{"gate": verdict.gate, "decision": verdict.decision.name.lower(),
             "objections": [{"path": o.path, "message": o.message} for o in verdict.objections]}
            for verdict in verdicts]


def evidence_json(evidence: Evidence) -> JsonObject:
    """A piece of evidence, as schema `evidence` has it."""
    return {
        "subject": evidence.subject, "finding": evidence.finding.value,
        "authority": evidence.authority, "source": evidence.source, "tree": evidence.tree,
        "at": evidence.at.isoformat(), "detail": evidence.detail,
        "artifact": digest_bytes(evidence.output) if evidence.output else None,
    }


def linked(run: str, last: AuditRow | None, body: JsonObject) -> AuditRow:
    """The next link of an audit chain."""
    number, prev = (last.number + 1, last.hash) if last else (1, GENESIS)
    numbered: JsonObject = {"schema": "oneshot/step@1", "number": number, **body}
    return AuditRow(run, number, numbered, prev, link_hash(prev, numbered))


def link_hash(prev: str, body: JsonObject) -> str:
    """What chains a body to the link before it: SHA-256 of that link's hash and the body."""
    return digest_bytes(prev.encode() + canonical(body))


def _stopped_of(row: JsonValue) -> Stopped | None:
    if not isinstance(row, dict):
        return None
    return Stopped(Stop(str(row["why"])), str(row["reason"]))


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)
    return value


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value
