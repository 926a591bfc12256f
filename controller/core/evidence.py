"""Evidence as the record keeps it: in the audit trail, under an id that is its own digest."""

import json
from collections.abc import Callable, Iterator
from typing import cast

from controller.core.canonical import JsonObject, canonical, digest, digest_bytes, entries
from controller.core.records import Evidence, Measured
from controller.core.results import results_from, results_json

PREFIX = "ev_"
"""How the id of a piece of evidence begins."""


def evidence_json(evidence: Evidence) -> JsonObject:
    """A piece of evidence, as schema `evidence` has it, with its id."""
    body = _evidence_body(evidence)
    return {"id": _called(body), **body}


def evidence_id(evidence: Evidence) -> str:
    """What a piece of evidence is called: `ev_` and the digest of what it says."""
    return _called(_evidence_body(evidence))


def _called(body: JsonObject) -> str:
    return f"{PREFIX}{digest(body)[:16]}"


def evidence_artifacts(found: tuple[Evidence, ...]) -> Iterator[bytes]:
    """What is kept of evidence beside the record of its step: outputs and results."""
    for item in found:
        yield item.output
        if item.measured and item.measured.results:
            yield canonical(results_json(item.measured.results))


def _evidence_body(evidence: Evidence) -> JsonObject:
    return {
        "subject": evidence.subject, "finding": evidence.finding.value,
        "authority": evidence.authority, "source": evidence.source, "tree": evidence.tree,
        "at": evidence.at.isoformat(), "detail": evidence.detail,
        "artifact": digest_bytes(evidence.output) if evidence.output else None,
        "tier": evidence.tier,
        **({"measured": _measured_json(evidence.measured)} if evidence.measured else {}),
    }


def _measured_json(measured: Measured) -> JsonObject:
    results = measured.results
    return {
        "key": measured.key, "commit": measured.commit, "policy": measured.policy,
        "protected": measured.protected,
        "begun": measured.begun.isoformat() if measured.begun else None, "exit": measured.exit,
        "counts": cast("JsonObject", results.counts) if results else None,
        "results": digest(results_json(results)) if results else None,
        "coverage": measured.coverage, "held": measured.held, "runs": measured.runs,
        "canary": measured.canary, "tools": dict(measured.tools)}


def measured_of(evidence: JsonObject, artifact: Callable[[str], bytes | None]) -> Measured | None:
    """How a recorded piece of evidence was measured, as far as a later check compares itself with
    it.
    """
    said = entries(evidence.get("measured"))
    if not said:
        return None
    kept = artifact(str(said["results"])) if said.get("results") else None
    coverage = said.get("coverage")
    return Measured(str(said["key"]), str(said["commit"]), canary=str(said.get("canary") or ""),
                    results=results_from(json.loads(kept)) if kept else None,
                    coverage=coverage if isinstance(coverage, float) else None)
