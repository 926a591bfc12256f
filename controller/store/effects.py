"""Effects, calls and what was said of them, as the durable record keeps them."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from controller.core.action import EffectClass
from controller.core.aim import Aim
from controller.core.canonical import JsonObject, JsonValue, canonical, digest_bytes, texts
from controller.core.evidence import evidence_json
from controller.core.facts import Source
from controller.core.head import Head, RunId
from controller.core.merge import merge
from controller.core.observation import first_line, whole
from controller.core.parse import parse
from controller.core.records import (
    Call,
    Candidate,
    Effect,
    EffectId,
    Prompt,
    Reply,
    Step,
    Transition,
    Usage,
)
from controller.core.verdict import Verdict
from controller.store.rows import int_in, object_in, stopped_json


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
        "model": call.model, "usd": call.usd,
    }


def call_of(row: JsonObject, run: RunId, reply: bytes, grant: str) -> Call:
    """The call that a person granted. Its prompt is kept apart and is not needed again."""
    prompt = Prompt(run, int_in(row["version"]), int_in(row["step"]), str(row["tree"]),
                    "", "", "", {})
    usage = Usage(**cast("Any", row["usage"]))  # as asdict wrote it
    fault = row["fault"]
    return Call(prompt, Reply(reply, usage, fault if isinstance(fault, str) else None),
                datetime.fromisoformat(str(row["at"])), grant)


def effect_json(effect: Effect, call: JsonObject) -> JsonObject:
    """An effect with what recovery needs beside the run's head, which is its base."""
    candidate = effect.candidate
    return {
        "id": effect.id, "token": effect.token, "begun": effect.begun.isoformat(),
        "effect_class": effect.aim.effect_class.value, "target": effect.aim.target,
        "expected": effect.aim.expected,
        "grant": effect.grant, "paths": list(effect.paths), "source": asdict(effect.source),
        "tree": candidate.tree, "document": candidate.transition.document, "call": call,
        "laid": candidate.laid, "evicted": candidate.evicted,
    }


def told_json(effect: Effect) -> JsonObject:
    """What an audit record says of an effect that is not settled by it."""
    return {"effect": effect.id, "action": effect.candidate.transition.document["action"],
            "effect_class": effect.aim.effect_class.value, "target": effect.aim.target}


def effect_of(row: JsonObject, base: Head) -> Effect:
    """The effect that `effect_json` wrote, over the head that the run has."""
    document, grant = object_in(row["document"]), row["grant"]
    transition = Transition(
        int_in(document["expected_version"]), object_in(document["state_patch"]),
        parse(object_in(document["action"])), document)
    laid = object_in(row.get("laid", transition.patch))  # as it was before 0.2
    candidate = Candidate(base, transition, merge(base.state, laid), str(row["tree"]), laid,
                          object_in(row.get("evicted", {})))
    return Effect(EffectId(str(row["id"])), candidate,
                  Aim(EffectClass(row.get("effect_class", "workspace")),  # as it was before 0.2
                      str(row.get("target", "")), str(row.get("expected", ""))),
                  Source(**cast("Any", row["source"])),  # as asdict wrote it
                  datetime.fromisoformat(str(row["begun"])), int_in(row["token"]),
                  texts(row["paths"]), grant if isinstance(grant, str) else None)


def verdicts_json(verdicts: tuple[Verdict, ...]) -> JsonValue:
    """What every gate answered."""
    return [{"gate": verdict.gate, "decision": verdict.decision.name.lower(),
             "objections": [{"path": o.path, "message": o.message} for o in verdict.objections]}
            for verdict in verdicts]


def step_json(step: Step, after: Head, call: JsonObject, state: str, asked: str) -> JsonObject:
    """What the audit trail keeps of a committed step; `state` is the digest of its state, `asked`
    the question that it put before a person.
    """
    outcome, document = step.outcome, step.effect.candidate.transition.document
    return {
        "version": after.version, "step": after.spent.steps, "effect": step.effect.id,
        "call": call, "action": document["action"], "patch": document["state_patch"],
        **({"evicted": {"artifact": digest_bytes(canonical(step.evicted)),
                        "entries": {name: list(value) if isinstance(value, dict) else value
                                    for name, value in step.evicted.items()}}}
           if step.evicted else {}),
        "outcome": {"status": outcome.status.value,
                    "summary": first_line(outcome.summary or outcome.text),
                    "artifact": digest_bytes(outcome.output) if outcome.output else None,
                    "tree_before": step.effect.source.tree, "tree": outcome.source.tree,
                    "extras": outcome.source.extras,
                    "git_commit": outcome.source.head, "tier": outcome.tier,
                    "exposed": outcome.exposed},
        "evidence": [evidence_json(item) for item in step.evidence],
        "effect_class": step.effect.aim.effect_class.value, "target": step.effect.aim.target,
        "expected": step.effect.aim.expected,
        "grant": step.effect.grant, "state": state, "heard": after.heard,
        "observation": whole(step.observation, step.before),
        "stopped": stopped_json(after.stopped),
        **({"confirmation": asked} if asked else {}),
    }
