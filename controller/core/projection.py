"""The controller's own fields of Σ: written from what authorities say, never from a patch."""

from dataclasses import replace

from controller.core.action import Action, Edit, Run, identity
from controller.core.canonical import JsonObject, JsonValue, digest_bytes, entries, members
from controller.core.head import Head, Message, Spent
from controller.core.observation import LIMIT, bounded, line
from controller.core.records import Effect, Evidence, Facts, Outcome, Source
from controller.core.rules import Rules

_CONFIRMATIONS = 20  # as the state schema has it
_PATHS = 20  # of one answer; what was agreed to beyond them is asked about again


def adopt(head: Head, facts: Facts, messages: tuple[Message, ...]) -> Head:
    """The head as the next prompt shows it: with what Git says now and what the user said.

    Authority fields are updated first; that they were, the observation says.
    """
    state: JsonObject = {**head.state, "source_authority": as_state(facts.source)}
    said = [f"The user says: {message.text}" for message in messages]
    news = "\n\n".join([*said, *([facts.drift] if facts.drift else [])])
    if not news:
        return replace(head, state=state)
    rest = LIMIT - len(bounded(news, LIMIT // 2).encode()) - 2
    text = f"{bounded(news, LIMIT // 2)}\n\n{bounded(head.observation, rest)}"
    heard = messages[-1].id if messages else head.heard
    return replace(head, state=state, observation=text, heard=heard)


def project(state: JsonObject, effect: Effect, outcome: Outcome,
            evidence: tuple[Evidence, ...], rules: Rules) -> JsonObject:
    """`state` with every field of the controller's brought up to date after an effect."""
    action = effect.candidate.transition.action
    after: JsonObject = {
        **state,
        "source_authority": as_state(outcome.source),
        "criteria": _criteria(state, evidence, effect.candidate.base.spent.steps, rules),
        "recent": _recent(state, effect, outcome, rules),
        "budget": budget(effect.candidate.base.spent, rules),
    }
    if isinstance(action, Run) or (isinstance(action, Edit) and action.check):
        after["runtime_evidence"] = _runtime(action, outcome)
    if effect.grant:
        after["confirmations"] = answered(state, effect.grant, action, "approved", effect.paths)
    return after


def budget(spent: Spent, rules: Rules) -> JsonObject:
    """The state's `budget`: steps taken and allowed."""
    return {"steps": spent.steps, "limit": rules.limits.steps}


def answered(state: JsonObject, grant: str, action: Action, answer: str,
             paths: tuple[str, ...] = ()) -> JsonObject:
    """The state's `confirmations` with one more answer about `paths`; the oldest make room."""
    kept = list(entries(state.get("confirmations")).items())[-_CONFIRMATIONS + 1:]
    return {**dict(kept), grant: {"action": line(identity(action)), "answer": answer,
                                  "paths": list(paths[:_PATHS])}}


def approved_paths(state: JsonObject) -> frozenset[str]:
    """The protected paths whose change a person has agreed to."""
    return frozenset(
        str(path) for answer in entries(state.get("confirmations")).values()
        if entries(answer).get("answer") == "approved"
        for path in members(entries(answer).get("paths")))


def as_state(source: Source) -> JsonObject:
    """The state's `source_authority`."""
    return {"branch": source.branch, "base": source.base, "head": source.head,
            "tree": source.tree, "dirty": source.dirty}


def tree_of(state: JsonObject) -> str:
    """The tree that the state says the worktree has; empty when it says none."""
    tree = entries(state.get("source_authority")).get("tree")
    return tree if isinstance(tree, str) else ""


def _criteria(state: JsonObject, evidence: tuple[Evidence, ...], step: int,
              rules: Rules) -> JsonValue:
    known = dict(entries(state.get("criteria")))
    ids = {criterion.id for criterion in rules.contract.success_criteria}
    for item in evidence:
        if item.subject in ids:
            baseline = entries(known.get(item.subject)).get("baseline")
            known[item.subject] = {
                "finding": item.finding.value, "tree": item.tree, "detail": line(item.detail, 300),
                "step": step, **({"baseline": baseline} if baseline else {})}
    return known


def _recent(state: JsonObject, effect: Effect, outcome: Outcome, rules: Rules) -> JsonValue:
    keep = rules.limits.recent
    if keep == 0:
        return []
    entry: JsonObject = {
        "step": effect.candidate.base.spent.steps,
        "action": line(identity(effect.candidate.transition.action)),
        "result": line(outcome.summary or outcome.text),
        "tree_changed": outcome.source.tree != effect.source.tree,
    }
    return [*members(state.get("recent")), entry][-keep:]


def _runtime(action: Run | Edit, outcome: Outcome) -> JsonObject:
    command = action.command if isinstance(action, Run) else action.check
    return {"action": line(str(command)), "result": line(outcome.summary or outcome.text),
            "tree": outcome.source.tree, "artifact": digest_bytes(outcome.output)}
