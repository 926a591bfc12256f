"""The controller's own fields of Σ: written from what authorities say, never from a patch."""

from dataclasses import replace

from controller.core.action import Action, Amend, Command, EffectClass, command_of, identity
from controller.core.canonical import (
    JsonObject,
    JsonValue,
    canonical,
    digest,
    digest_bytes,
    entries,
    members,
)
from controller.core.evidence import evidence_id
from controller.core.facts import Facts, Source
from controller.core.head import Head, Message, Spent
from controller.core.observation import LIMIT, bounded, first_line
from controller.core.records import (
    OPENED,
    PUSHED,
    Effect,
    Evidence,
    Finding,
    Outcome,
    Status,
)
from controller.core.rules import Rules

_CONFIRMATIONS = 20  # as the state schema has it
MOST_WAITING = 20  # questions that wait for a person; as the state schema has it
_PATHS = 20  # of one answer; what was agreed to beyond them is asked about again


def adopt(head: Head, facts: Facts, messages: tuple[Message, ...]) -> Head:
    """The head as the next prompt shows it: with what Git says now and what the user said.

    Authority fields are updated first; that they were, the observation says.
    """
    seen = {name: value for name, value in facts.seen.items() if name in head.state}
    state: JsonObject = {**head.state, **seen,
                         "source_authority": as_state(facts.source, head.state)}
    said = [f"The user says: {message.text}" for message in messages]
    shown = told(head, "\n\n".join([*said, *map(str, facts.drift)]))
    return replace(shown, state=state, extras=facts.source.extras,
                   heard=messages[-1].id if messages else head.heard,
                   exposed=facts.exposed or (head.exposed and not messages))


def told(head: Head, news: str) -> Head:
    """The head with something to tell beside what it has to show already."""
    if not news:
        return head
    news = bounded(news, LIMIT // 2)
    if head.before:  # the observation is a correction; what it corrects gets the news
        return replace(head, before=_after(news, head.before))
    return replace(head, observation=_after(news, head.observation))


def corrected(head: Head, why: str) -> Head:
    """The head after a step that did not commit: why, beside what that step had been shown."""
    return replace(head, observation=bounded(why, LIMIT // 2),
                   before=head.before or head.observation)


def _after(news: str, text: str) -> str:
    return f"{news}\n\n{bounded(text, LIMIT - len(news.encode()) - 2)}"


def project(state: JsonObject, effect: Effect, outcome: Outcome,
            evidence: tuple[Evidence, ...], rules: Rules, gone: JsonObject) -> JsonObject:
    """`state` with every field of the controller's brought up to date after an effect; `gone` is
    what has left it with this step.
    """
    action = effect.candidate.transition.action
    after: JsonObject = {
        **state,
        "source_authority": as_state(outcome.source, state),
        "criteria": _criteria(state, evidence, effect.candidate.base.spent.steps, rules,
                              on_base=isinstance(action, Amend)),
        "recent": _recent(state, effect, outcome, rules),
        "budget": budget(effect.candidate.base.spent, rules),
    }
    if _of_three(state):
        after["delivery"] = _delivery(entries(state["delivery"]), effect, outcome, evidence)
    after = {**after, **_evicted(after, gone)}
    if command := command_of(action):
        after["runtime_evidence"] = _runtime(command, outcome)
    if effect.grant and outcome.status is Status.DONE:
        paths = sorted(effect.paths, key=lambda path: not rules.policy.protects(path, (path,)))
        after["confirmations"] = answered(state, effect.grant, action, "approved", {
            "paths": list[JsonValue](paths[:_PATHS]),
            "tree": outcome.agreed or outcome.source.tree})
    return after


def budget(spent: Spent, rules: Rules) -> JsonObject:
    """The state's `budget`: steps taken and allowed."""
    return {"steps": spent.steps, "limit": rules.limits.steps}


def answered(state: JsonObject, grant: str, action: Action, answer: str,
             agreed: JsonObject | None = None) -> JsonObject:
    """The state's `confirmations` with one more answer; the oldest make room.

    `agreed` has the `paths` that were agreed to and the `tree` in which they are as agreed.
    """
    known = sorted(entries(state.get("confirmations")).items(), key=lambda item: _order(item[0]))
    return {**dict(known[-_CONFIRMATIONS + 1:]),
            grant: {"action": first_line(identity(action)), "answer": answer, **(agreed or {})}}


def subject(action: JsonObject) -> str:
    """A short mark of an action that waits, so that it is not asked about twice."""
    return digest(action)[:12]


def waiting(state: JsonObject, shown: JsonObject) -> JsonObject:
    """The state with what waits for a person; as it was in runs whose state has no place for it."""
    if "waiting" not in state or state["waiting"] == shown:
        return state
    return {**state, "waiting": shown}


def _order(id: str) -> tuple[int, ...]:
    """The order in which questions were asked: c7, c7-2, c10."""
    return tuple(int(number) for number in id[1:].split("-"))


def agreements(state: JsonObject) -> tuple[tuple[str, frozenset[str]], ...]:
    """(tree, paths) of every answer by which a person agreed to changes of files, newest first."""
    given = entries(state.get("confirmations"))
    newest = sorted(given, key=_order, reverse=True)
    answers = [entries(given[id]) for id in newest]
    return tuple((str(answer["tree"]), frozenset(map(str, members(answer.get("paths")))))
                 for answer in answers if answer.get("answer") == "approved")


def as_state(source: Source, state: JsonObject) -> JsonObject:
    """The state's `source_authority`; a state of an older schema has no place for all of it."""
    told: JsonObject = {"branch": source.branch, "base": source.base, "head": source.head,
                        "tree": source.tree, "dirty": source.dirty}
    if not _of_three(state):
        return told
    return {**told, "ahead": source.ahead, "behind": source.behind, "changed": source.changed,
            "new": source.new, **({"operation": source.operation} if source.operation else {})}


def _of_three(state: JsonObject) -> bool:
    """Whether a state has what the third version of the coding schema brought."""
    return "delivery" in state


def branch_head(state: JsonObject) -> str:
    """The Git commit that the state says the run's branch is at; empty when it says none."""
    head = entries(state.get("source_authority")).get("head")
    return head if isinstance(head, str) else ""


def tree_of(state: JsonObject) -> str:
    """The tree that the state says the worktree has; empty when it says none."""
    tree = entries(state.get("source_authority")).get("tree")
    return tree if isinstance(tree, str) else ""


def _evicted(state: JsonObject, gone: JsonObject) -> JsonObject:
    """Σ's `evicted`, with what made way in this step and where it is kept."""
    if not gone or "evicted" not in state:
        return {}
    known = dict(entries(state["evicted"]))
    artifact = digest_bytes(canonical(gone))[:16]
    for name, entry in gone.items():
        ids = [first_line(str(id), 80) for id in (entry if isinstance(entry, dict | list) else ())]
        before = entries(known.get(name)).get("count")
        known[name] = {"count": (before if isinstance(before, int) else 0) + len(ids),
                       "last": list[JsonValue](ids[-5:]), "artifact": artifact}
    return {"evicted": known}


def _criteria(state: JsonObject, evidence: tuple[Evidence, ...], step: int, rules: Rules, *,
              on_base: bool) -> JsonValue:
    ids = {criterion.id for criterion in rules.contract.success_criteria}
    known = {id: found for id, found in entries(state.get("criteria")).items() if id in ids}
    for item in evidence:
        if item.subject in ids:
            baseline = item.finding.value if on_base else (
                entries(known.get(item.subject)).get("baseline"))
            known[item.subject] = {**standing(item, step, state),
                                   **({"baseline": baseline} if baseline else {})}
    return known


def _delivery(known: JsonObject, effect: Effect, outcome: Outcome,
              evidence: tuple[Evidence, ...]) -> JsonObject:
    """What of the run is outside, after an effect."""
    external = effect.aim.effect_class is EffectClass.EXTERNAL
    if not external or outcome.status is Status.FAILED:
        return known
    after: JsonObject = {**known, "production_authority_executed": True}
    for item in evidence:
        if item.finding is Finding.VERIFIED and item.subject == PUSHED:
            after |= {"branch": outcome.source.branch, "pushed": outcome.source.head}
        if item.finding is Finding.VERIFIED and item.subject == OPENED:
            after["pull_request"] = first_line(item.detail, 300)
    return after


def standing(item: Evidence, step: int, state: JsonObject) -> JsonObject:
    """What a state's `criteria` say of one, by the evidence about it."""
    told: JsonObject = {"finding": item.finding.value, "tree": item.tree,
                        "detail": first_line(item.detail, 300), "step": step}
    if not _of_three(state):
        return told
    return {**told, "evidence": evidence_id(item),
            **({"check": item.measured.key} if item.measured else {})}


def _recent(state: JsonObject, effect: Effect, outcome: Outcome, rules: Rules) -> JsonValue:
    keep = rules.limits.recent
    if keep == 0:
        return []
    entry: JsonObject = {
        "step": effect.candidate.base.spent.steps,
        "action": first_line(identity(effect.candidate.transition.action)),
        "result": first_line(outcome.summary or outcome.text),
        "tree_changed": outcome.source.tree != effect.source.tree,
    }
    return [*members(state.get("recent")), entry][-keep:]


def _runtime(command: Command, outcome: Outcome) -> JsonObject:
    result = first_line(outcome.summary or outcome.text)
    return {"action": first_line(str(command)), "result": result,
            "tree": outcome.source.tree, "artifact": digest_bytes(outcome.output)}
