"""Judging gate: sentences about the state that hold after every commit, whatever the patch was."""

from collections.abc import Iterator

from controller.core.canonical import JsonObject, entries
from controller.core.facts import Facts
from controller.core.pointer import pointer
from controller.core.records import Candidate
from controller.core.rules import Rules, properties
from controller.core.sourced import FORMS, InArtifact, InStep, Pointer, pointed
from controller.core.verdict import Objection, Verdict, judged


def invariants(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse a state that decides a hypothesis without evidence that can be looked up, points to
    what is not there, or does two things at once.
    """
    return judged("invariants", (*_undecided(candidate, facts, rules), *_dangling(
        candidate, facts, rules), *_one_at_a_time(candidate.state)))


def _undecided(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """Only of what this patch touches: the rest was looked at when it was said."""
    pointing = "result" in properties(entries(entries(properties(rules.state_schema).get(
        "hypotheses")).get("additionalProperties")))
    for key, item in _touched(candidate, "hypotheses"):
        if item.get("status") not in ("confirmed", "refuted"):
            continue
        at, said = pointer("state_patch", "hypotheses", key, "evidence"), item.get("evidence")
        place = pointed(str(said or ""))
        if not pointing and said:
            continue  # a schema of before 2, where evidence is words
        if place is None:
            yield Objection(at, f"a {item['status']} hypothesis needs evidence that can be looked "
                            f"up ({FORMS}), and a `result` in words; or say status `unknown`")
        elif not _there(place, candidate, facts, rules):
            yield Objection(at, f"{said!r} leads to nothing; name what showed it, or say status "
                            "`unknown`")


def _dangling(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    for key, item in _touched(candidate, "facts"):
        place = pointed(str(item.get("source") or ""))
        if isinstance(place, InArtifact | InStep) and not _there(place, candidate, facts, rules):
            yield Objection(pointer("state_patch", "facts", key, "source"),
                            f"{item['source']!r} leads to nothing; leave it out, or say `unknown`")


def _there(place: Pointer, candidate: Candidate, facts: Facts, rules: Rules) -> bool:
    if isinstance(place, InStep):
        return 0 <= place.step <= candidate.base.spent.steps
    return rules.resolves(place, facts.source.tree)


def _touched(candidate: Candidate, name: str) -> Iterator[tuple[str, JsonObject]]:
    patched = entries(candidate.transition.patch.get(name))
    for key, item in _items(candidate.state, name):
        if key in patched:
            yield key, item


def _one_at_a_time(state: JsonObject) -> list[Objection]:
    doing = [key for key, item in _items(state, "plan") if item.get("status") == "doing"]
    return [Objection(pointer("state_patch", "plan", key, "status"),
                      f"only one plan item is `doing` at a time; {doing[0]} is already")
            for key in doing[1:]]


def _items(state: JsonObject, name: str) -> Iterator[tuple[str, JsonObject]]:
    for key, item in entries(state.get(name)).items():
        yield key, entries(item)
