"""Σ: what makes way for what, what leads where, and how one schema follows another."""

from typing import Any

import pytest

import contracts
from controller.core.action import Command
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.contract import (
    CommandCheck,
    Constraint,
    Contract,
    Criterion,
    Expected,
    FileCheck,
    PersonCheck,
)
from controller.core.eviction import aged, dropped, laid
from controller.core.migrations import migrated, unfit
from controller.core.policy import Policy
from controller.core.proof import key, proofs
from controller.core.review import sources
from controller.core.rules import Rules
from controller.core.sourced import InArtifact, InFile, InStep, pointed
from controller.testing.world import RUN, World, command, rules

SMALL: JsonObject = {
    "type": "object", "x-max-bytes": 400, "properties": {
        "facts": {"x-owner": "model", "x-evict": "oldest", "type": "object", "maxProperties": 3},
        "notes": {"x-owner": "model", "x-evict": "oldest", "x-max-bytes": 60, "type": "object"},
        "log": {"x-owner": "model", "x-merge": "append", "x-evict": "oldest", "type": "array",
                "maxItems": 2},
        "list": {"x-owner": "model", "type": "array"},
        "plan": {"x-owner": "model", "type": "object"}}}


def small() -> Rules:
    return rules(state_schema=SMALL)


def test_the_oldest_entry_makes_way_and_is_named() -> None:
    state: JsonObject = {"facts": {"a": 1, "b": 2, "c": 3}}
    found = laid(state, {"facts": {"d": 4}}, {"facts": {"a": 2, "b": 1, "c": 3}}, small())

    assert found.state == {"facts": {"a": 1, "c": 3, "d": 4}}
    assert found.evicted == {"facts": {"b": 2}}
    assert found.patch == {"facts": {"d": 4, "b": None}}


def test_what_a_patch_has_just_set_never_makes_way() -> None:
    state: JsonObject = {"facts": {"a": 1}}
    patch: JsonObject = {"facts": {"a": 9, "b": 2, "c": 3, "d": 4}}
    found = laid(state, patch, {"facts": {"a": 1}}, small())

    assert found.evicted == {}
    assert found.state == {"facts": {"a": 9, "b": 2, "c": 3, "d": 4}}  # the schema says no


def test_a_field_has_a_quota_of_bytes_too() -> None:
    state: JsonObject = {"notes": {"a": "x" * 20, "b": "y" * 20}}
    found = laid(state, {"notes": {"c": "z" * 20}}, {"notes": {"a": 1, "b": 2}}, small())

    assert list(entries(found.evicted["notes"])) == ["a"]
    assert len(canonical(found.state["notes"])) <= 60


def test_the_whole_state_has_one_and_the_oldest_of_all_goes_first() -> None:
    state: JsonObject = {"facts": {"f": "x" * 100}, "notes": {"n": "y"}, "plan": {}}
    found = laid(state, {"plan": {"p": "z" * 350}}, {"facts": {"f": 5}, "notes": {"n": 1}}, small())

    assert found.evicted == {"notes": {"n": "y"}, "facts": {"f": "x" * 100}}


def test_a_list_is_added_to_its_oldest_go_and_nothing_is_said_twice() -> None:
    found = laid({"log": ["a", "b"]}, {"log": ["b", "c"]}, {}, small())

    assert found.state == {"log": ["b", "c"]}
    assert found.evicted == {"log": ["a"]}


def test_ages_are_kept_of_what_is_there() -> None:
    ages = aged({"facts": {"a": 1, "b": 2}}, {"facts": {"b": 9, "a": None}}, {"facts": {"b": 9}}, 7,
                small())

    assert ages == {"facts": {"b": 7}, "notes": {}}


@pytest.mark.parametrize(("state", "patch", "path"), [
    ({"list": [1, 2]}, {"list": [1]}, "/state_patch/list"),
    ({"plan": {"a": {"steps": [1, 2]}}}, {"plan": {"a": {"steps": [2, 3]}}},
     "/state_patch/plan/a/steps"),
    ({"plan": {"a": {"x": 1}}}, {"plan": {"a": "gone"}}, "/state_patch/plan/a"),
], ids=["list", "nested", "object"])
def test_what_would_be_dropped_without_a_word_is_refused_with_the_two_ways_to_say_it(
        state: JsonObject, patch: JsonObject, path: str) -> None:
    (objection,) = dropped(state, patch, SMALL, "/state_patch")

    assert objection.path == path
    assert "would drop" in objection.message
    assert "null first" in objection.message


@pytest.mark.parametrize("patch", [
    {"list": [1, 2, 3]}, {"list": None}, {"log": ["x"]}, {"plan": {"a": None}}, {"plan": {}},
])
def test_what_is_named_may_go(patch: JsonObject) -> None:
    state: JsonObject = {"list": [1, 2], "log": ["a"], "plan": {"a": {"x": 1}}}

    assert list(dropped(state, patch, SMALL, "")) == []


def test_what_left_the_state_is_in_the_artifact_store_and_recalled() -> None:
    world = World()
    for number in range(41):
        world.model.replies(command(f"write a.py {number}"),
                            {"facts": {f"fact{number}": {"text": f"number {number}"}}})
    head = world.go(41)

    assert len(entries(head.state["facts"])) == 40
    assert "fact0" not in entries(head.state["facts"])
    gone = entries(entries(head.state["evicted"])["facts"])
    assert (gone["count"], gone["last"]) == (1, ["fact0"])
    kept = world.queries.artifact(str(gone["artifact"]))
    assert kept == b'{"facts":{"fact0":{"text":"number 0"}}}'
    from controller.actions.recall import recall
    from controller.core.action import Recall

    assert "number 0" in recall(world.queries, RUN, Recall("fact0"))


@pytest.mark.parametrize(("text", "place"), [
    ("artifact:0123abcd", InArtifact("0123abcd")), ("step:12", InStep(12)),
    ("src/a b.py:3", InFile("src/a b.py", 3)), ("src/a.py:3-9", InFile("src/a.py", 3)),
    ("./a.py:3@0123abc", InFile("a.py", 3, "0123abc")), ("pytest -q", None), ("artifact:xyz", None),
])
def test_a_pointer_is_told_from_words(text: str, place: object) -> None:
    assert pointed(text) == place


@pytest.mark.parametrize(("item", "said"), [
    ({"status": "confirmed"}, "needs evidence that can be looked up"),
    ({"status": "refuted", "evidence": "pytest said so"}, "needs evidence that can be looked up"),
    ({"status": "confirmed", "evidence": "step:9"}, "'step:9' leads to nothing"),
    ({"status": "confirmed", "evidence": "artifact:00000000"}, "leads to nothing"),
    ({"status": "confirmed", "evidence": "unknown"}, "needs evidence that can be looked up"),
    ({"status": "confirmed", "evidence": "step:0"}, ""),
    ({"status": "unknown"}, ""), ({"status": "open"}, ""),
], ids=["none", "words", "no-step", "no-artifact", "unknown", "a-step", "not-decided", "open"])
def test_a_decided_hypothesis_leads_to_what_showed_it(item: JsonObject, said: str) -> None:
    world = World(rules=rules(resolves=lambda place, tree: False))
    world.model.replies(command("true"), {"hypotheses": {"h": {"text": "x", **item}}})

    head = world.step()

    if said:
        assert "/state_patch/hypotheses/h/evidence: " in head.observation
        assert said in head.observation
    else:
        assert head.version == 1


def test_a_fact_that_points_to_nothing_is_refused_and_one_in_words_is_not() -> None:
    world = World(rules=rules(resolves=lambda place, tree: False))
    fact = {"text": "x", "source": "artifact:0123456789"}
    world.model.replies(command("true"), {"facts": {"a": fact}})
    world.model.replies(command("true"), {"facts": {"a": {**fact, "source": "unknown"}}})

    refused, taken = world.step(), world.step()

    assert "/state_patch/facts/a/source: 'artifact:0123456789' leads to nothing" in (
        refused.observation)
    assert taken.version == 1


LOCKED = Constraint("constraint-1", forbid_paths=("docs/**",))


@pytest.mark.parametrize(("check", "found", "said"), [
    (CommandCheck(Command(("x",))), {"finding": "verified", "tree": "t", "step": 4, "detail": ""},
     "present: verified in step 4, in the Git commit"),
    (CommandCheck(Command(("x",))), {"finding": "verified", "tree": "u", "step": 4, "detail": ""},
     "stale: verified in step 4, in another tree (u) than the Git commit's"),
    (CommandCheck(Command(("x",))), {"finding": "failing", "tree": "t", "step": 0, "detail": "no"},
     "missing: failing at the start: no"),
    (CommandCheck(Command(("x",))), {}, "missing: it was not checked yet"),
    (CommandCheck(Command(("x",))), {"finding": "unknown", "tree": "t", "step": 3, "detail": "?"},
     "impossible: its check can't be run: ?"),
    (FileCheck("docs/a.md"), {"finding": "failing", "tree": "t", "step": 3, "detail": "no"},
     "impossible: constraint-1 forbids to change docs/a.md"),
    (FileCheck("docs/a.md"), {"finding": "verified", "tree": "t", "step": 3, "detail": ""},
     "present: verified in step 3, in the Git commit"),
    (PersonCheck("Nice?"), {}, "missing: a person is asked at the finish: Nice?"),
], ids=["present", "stale", "missing", "never", "can-not-run", "forbidden", "forbidden-but-there",
        "person"])
def test_every_criterion_is_asked_what_would_prove_it(
        check: Any, found: JsonObject, said: str) -> None:
    contract = Contract("g", (Criterion("c", "", check),), constraints=(LOCKED,))

    (proof,) = proofs(contract, Policy(), {"criteria": {"c": found} if found else {}}, "t")

    assert str(proof) == said


@pytest.mark.parametrize(("mine", "standing"), [
    (CommandCheck(Command(("x",))), "present"),
    (CommandCheck(Command(("x", "-q"))), "stale"),
    (CommandCheck(Command(("x",)), tests=Expected(minimum=2)), "stale"),
], ids=["same", "another-command", "another-minimum"])
def test_evidence_of_another_check_or_under_another_policy_is_stale(
        mine: CommandCheck, standing: str) -> None:
    asked = key(CommandCheck(Command(("x",))), Policy())
    found: JsonObject = {"finding": "verified", "tree": "t", "step": 4, "detail": "",
                         "check": asked}
    state: JsonObject = {"criteria": {"c": found}}

    (here,) = proofs(Contract("g", (Criterion("c", "", mine),)), Policy(), state, "t")
    (there,) = proofs(Contract("g", (Criterion("c", "", mine),)),
                      Policy(protected_paths=("tests/**",)), state, "t")

    assert (here.standing.value, there.standing.value) == (standing, "stale")


def test_every_few_steps_the_state_says_what_is_proved() -> None:
    world = World()
    for number in range(6):
        world.model.replies(command(f"write a.py {number}"))

    shown = [entries(world.go(1).state.get("proof")) for _ in range(6)]

    assert shown[0] == shown[5] == {"green": "missing: failing at the start: failing"}
    assert entries(world.head.state["proof"])


def old_state() -> JsonObject:
    return {"facts": {}, "plan": {}, "files": {}, "questions": {}, "decisions": {},
            "hypotheses": {"a": {"text": "x", "status": "confirmed", "evidence": "pytest: 3"},
                           "b": {"text": "y", "status": "open"}},
            "source_authority": {"branch": "b", "base": "0", "head": "0", "tree": "0",
                                 "dirty": False},
            "criteria": {}, "recent": [], "confirmations": {}, "budget": {"steps": 1}}


def schemas() -> tuple[Any, Any]:
    return contracts.domain("coding", 1), contracts.domain("coding")


def test_a_state_of_before_goes_on_under_the_newest_schema_and_back() -> None:
    one, two = schemas()
    assert unfit(old_state(), one) == []

    new = migrated(old_state(), one, two)
    back = migrated(new, two, one)

    assert unfit(new, two) == []
    assert new["schema_version"] == 3
    assert entries(new["hypotheses"])["a"] == {
        "text": "x", "status": "confirmed", "result": "pytest: 3", "evidence": "unknown"}
    assert back == old_state()
    assert migrated(new, two, two) == new


def test_a_state_that_does_not_fit_says_where() -> None:
    _, two = schemas()
    state = {**migrated(old_state(), *schemas()), "mine": 1}

    (fault,) = unfit(state, two)
    assert str(fault).startswith("/mine: unknown key")


def test_a_fact_is_stale_when_the_line_it_names_reads_otherwise() -> None:
    world = World()
    world.model.replies(command("true"), {"facts": {"a": {"text": "x", "source": "app.py:1"}}})
    head = world.step()

    assert head.marks["sources"] == {"a": {
        "path": "app.py", "line": 1, "tree": entries(head.state["source_authority"])["tree"]}}


@pytest.mark.parametrize("source", ["../x:1", "/etc/passwd:1", "a\rb:1", "a\x0bb:1",
                                    ".git/config:1"])
def test_a_place_that_is_none_is_taken_for_words_and_stops_no_run(source: str) -> None:
    world = World()
    world.model.replies(command("true"), {"facts": {"a": {"text": "x", "source": source}}})

    head = world.step()

    assert entries(head.marks["sources"]) == {}


def test_nothing_is_said_to_have_made_way_in_a_step_that_failed() -> None:
    world = World()
    for number in range(40):
        world.model.replies(command(f"write a.py {number}"),
                            {"facts": {f"f{number}": {"text": "x"}}})
    world.model.replies(command("fail"), {"facts": {"more": {"text": "x"}}})

    head = world.go(41)

    assert len(entries(head.state["facts"])) == 40
    assert head.state["evicted"] == {}


def test_a_fact_that_comes_back_was_seen_where_it_comes_from() -> None:
    state: JsonObject = {"facts": {"a": {"text": "x", "source": "app.py:1"}}}

    assert sources({}, {}, state, "old-tree") == {
        "a": {"path": "app.py", "line": 1, "tree": "old-tree"}}


def test_a_point_of_before_a_migration_is_brought_along() -> None:
    one, two = schemas()
    brought = migrated(old_state(), {"$id": two["$id"]}, two)

    assert {"waiting", "intent", "stale", "proof", "lessons", "evicted"} <= set(brought)
    assert unfit(brought, two) == []
    assert one["$id"] != two["$id"]
