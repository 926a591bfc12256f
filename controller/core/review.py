"""What the controller says in Σ about the contract, the proof and the model's own facts."""

from dataclasses import replace
from datetime import datetime, timedelta

from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.contract import Contract
from controller.core.facts import Facts
from controller.core.head import Head
from controller.core.observation import first_line
from controller.core.proof import proofs
from controller.core.rules import CONTROLLER, Rules
from controller.core.sourced import InFile, pointed

_STALE = 20  # entries that are named


def reviewed(head: Head, facts: Facts, rules: Rules) -> Head:
    """The head with what is stale, and every Nth step what the reverse check says.

    A run whose state has no place for it goes on without.
    """
    stale: JsonObject = dict(list(facts.stale.items())[:_STALE])
    said: JsonObject = {"stale": stale, "intent": intent(rules.contract, facts.now)}
    if head.spent.steps % rules.limits.reverse_check == 0:
        said["proof"] = reverse_check(rules, head.state, facts)
    own = {name: value for name, value in said.items() if rules.owners.get(name) == CONTROLLER}
    return replace(head, state={**head.state, **own})


def reverse_check(rules: Rules, state: JsonObject, facts: Facts) -> JsonObject:
    """What proves each criterion in the tree of HEAD, in one line each."""
    return {proof.criterion: first_line(str(proof), 200)
            for proof in proofs(rules.contract, rules.policy, state,
                                facts.source.head_tree)}


def intent(contract: Contract, now: datetime) -> JsonObject:
    """The version of the contract, and which items somebody should say again."""
    old: list[JsonValue] = [
        f"{id}: said {rule.at.date()}, good for {timedelta(seconds=rule.freshness)}"
        for id, _, rule in contract.governed
        if rule.freshness and rule.at and (now - rule.at).total_seconds() > rule.freshness]
    return {"version": contract.version, "stale": old[:_STALE]}


def sources(known: JsonObject, patch: JsonObject, state: JsonObject, tree: str) -> JsonObject:
    """In which tree each fact's place was seen, after a patch that was made looking at `tree`."""
    found: JsonObject = {}
    for id, fact in entries(state.get("facts")).items():
        place = pointed(str(entries(fact).get("source") or ""))
        if not isinstance(place, InFile):
            continue
        old = entries(known.get(id))
        new = id in entries(patch.get("facts")) or (old.get("path"), old.get("line")) != (
            place.path, place.line)
        found[id] = {"path": place.path, "line": place.line,
                     "tree": (place.tree or tree) if new else old["tree"]}
    return found
