"""Judging gate: sentences about the state that hold after every commit, whatever the patch was."""

from collections.abc import Iterator

from controller.core.canonical import JsonObject, entries
from controller.core.facts import Facts
from controller.core.pointer import pointer
from controller.core.records import Candidate
from controller.core.rules import Rules
from controller.core.verdict import Objection, Verdict, judged


def invariants(candidate: Candidate, _facts: Facts, _rules: Rules) -> Verdict:
    """Refuse a state that decides a hypothesis without evidence, or does two things at once."""
    return judged("invariants", (*_undecided(candidate.state), *_one_at_a_time(candidate.state)))


def _undecided(state: JsonObject) -> Iterator[Objection]:
    for key, item in _items(state, "hypotheses"):
        if item.get("status") in ("confirmed", "refuted") and not item.get("evidence"):
            yield Objection(pointer("state_patch", "hypotheses", key, "evidence"),
                            f"a {item['status']} hypothesis needs evidence: name what showed it")


def _one_at_a_time(state: JsonObject) -> list[Objection]:
    doing = [key for key, item in _items(state, "plan") if item.get("status") == "doing"]
    return [Objection(pointer("state_patch", "plan", key, "status"),
                      f"only one plan item is `doing` at a time; {doing[0]} is already")
            for key in doing[1:]]


def _items(state: JsonObject, name: str) -> Iterator[tuple[str, JsonObject]]:
    for key, item in entries(state.get(name)).items():
        yield key, entries(item)
