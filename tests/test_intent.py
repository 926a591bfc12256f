"""The contract while a run is going: versions, change requests, what each step is under."""

from typing import Any

import pytest

from controller.core.canonical import JsonObject, JsonValue, digest, entries
from controller.core.errors import Damaged, SetupError
from controller.core.head import Stop, Wish
from controller.core.prompt import stable
from controller.core.records import Finding
from controller.core.showing import details
from controller.core.terms import contract_of
from controller.store.contracts import by_user, document
from controller.testing.clock import MORNING
from controller.testing.world import RUN, World, command, rules
from controller.testing.world import document as contract_document

UTC = {"text": "CSV times are in UTC", "forbid_paths": ["local/**"]}


def governing(**fields: JsonValue) -> World:
    """A world whose contract is governed, with these fields."""
    made = contract_document(**fields)
    return World(rules=rules(contract=contract_of(made), mark=digest(made)), document=made)


def amend(world: World, op: str, target: str, value: Any = None) -> int:
    return world.desk.amend(RUN, by_user(op, target, value, "ada", MORNING))


def kinds(world: World) -> list[str]:
    return [str(record["kind"]) for record in world.queries.audit(RUN)]


def test_a_new_rule_is_in_force_from_the_next_step_on_and_the_model_is_told() -> None:
    world = governing()
    for _ in range(3):
        world.model.replies(command("true"))
    world.go(1)

    number = amend(world, "add", "constraints", UTC)
    head = world.go(1)

    assert (number, head.contract) == (2, 2)
    assert "constraint-1: CSV times are in UTC" not in world.model.prompts[0].stable
    assert "constraint-1: CSV times are in UTC; files matching local/**" in (
        world.model.prompts[1].stable)
    assert "changed the intent contract (version 1 -> 2)" in world.model.prompts[1].volatile
    assert "+ constraint-1: CSV times are in UTC" in world.model.prompts[1].volatile
    assert head.state["intent"] == {"version": 2, "stale": []}


def test_nothing_of_the_contract_is_ever_overwritten() -> None:
    world = governing(locked_requirements=["whole cents"])
    world.open()

    amend(world, "amend", "requirement-1", "whole cents, but for rates")
    amend(world, "retire", "requirement-1")
    amend(world, "add", "locked_requirements", "no floats")

    said = [[entries(item)["text"] for item in document(world.tables, RUN, number)[
        "locked_requirements"]] for number in (1, 2, 3, 4)]  # type: ignore[union-attr]  # a list
    assert said == [["whole cents"], ["whole cents, but for rates"], [], ["no floats"]]
    second = entries(document(world.tables, RUN, 2)["locked_requirements"][0])  # type: ignore[index]  # a list
    assert (second["supersedes"], second["since"]) == ("requirement-1@1", 2)
    newest = entries(document(world.tables, RUN)["locked_requirements"][0])  # type: ignore[index]  # a list
    assert newest["id"] == "requirement-2"
    assert [record["by"] for record in world.queries.audit(RUN)
            if record["kind"] == "intent"] == ["ada"] * 3


def test_a_new_criterion_is_checked_on_the_base_at_once_and_the_run_is_not_done_without_it(
        ) -> None:
    world = governing()
    world.authority.findings = {"green": Finding.VERIFIED}
    world.model.replies(command("write app.py -fixed"))
    world.model.replies({"kind": "commit", "message": "Fix it"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "."})
    world.go(1)

    amend(world, "add", "success_criteria/utc", {"check": {"shell": "pytest -k utc"}})
    world.authority.findings = {"green": Finding.VERIFIED, "utc": Finding.FAILING}
    head = world.go(2)

    assert head.stopped is None
    utc = entries(entries(head.state["criteria"])["utc"])
    assert (utc["baseline"], utc["finding"]) == ("failing", "failing")


def test_a_retired_criterion_is_asked_for_no_more() -> None:
    world = governing(success_criteria={
        "green": {"check": {"argv": ["pytest"]}}, "extra": {"check": {"file": "x"}}})
    world.authority.findings = {"green": Finding.FAILING, "extra": Finding.FAILING}
    world.model.replies(command("true"))
    world.open()

    amend(world, "retire", "extra")
    head = world.go(1)

    assert list(entries(head.state["criteria"])) == ["green"]


@pytest.mark.parametrize(("op", "target", "value", "said"), [
    ("amend", "requirement-9", "x", "the contract has no item 'requirement-9'; did you mean "
     "'requirement-"),
    ("add", "constraint", "x", "the contract has no field 'constraint'; did you mean "
     "'constraints'?"),
    ("add", "constraints", {"max_file": 3}, "unknown key; did you mean 'max_files'?"),
    ("add", "success_criteria", "x", "expected success_criteria/ID for a criterion"),
    ("add", "success_criteria/green", {"check": {"file": "x"}}, "there is a criterion green"),
    ("retire", "green", None, "green is the only criterion"),
    ("retire", "goal", None, "a run without a goal is none"),
    ("amend", "requirement-2", "x", "requirement-2 is fixed for the whole run"),
    ("add", "must_remember", "", "expected at least 1"),
    ("add", "constraints", {"forbid_commands": ["("]}, "expected a regular expression"),
    ("add", "constraints", {"deadline": "2026-13-01T00:00:00Z"}, "month must be in 1..12"),
    ("add", "success_criteria/x", {"check": {"file": "../x"}}, "'../x'"),
    ("add", "success_criteria/x", {"check": {"shell": "pytest || true"}}, "lets the check pass"),
    ("add", "must_remember", 3, "expected a text, or an object"),
    ("add", "constraints", {"forbid_paths": ["./src/**"]}, "begins with './'; leave that out"),
    ("add", "constraints", {"forbid_paths": ["src/{a,b}.py"]}, "has brackets, which mean nothing"),
    ("add", "constraints", {"deadline": "2025-01-01T00:00:00Z"}, "is over already"),
], ids=["no-item", "no-field", "typo", "no-id", "twice", "last", "goal", "fixed", "empty", "regex",
        "month", "outside", "always", "number", "dot", "brackets", "over"])
def test_a_change_that_is_none_is_refused_and_leaves_no_version(
        op: str, target: str, value: Any, said: str) -> None:
    world = governing(locked_requirements=["a", {"text": "b", "change_policy": "fixed"}])
    world.open()

    with pytest.raises(SetupError) as refused:
        amend(world, op, target, value)

    assert said in str(refused.value)
    assert world.store.inbox.contract(RUN) == 1


def test_a_version_that_the_user_has_not_signed_stops_the_run() -> None:
    world = governing()
    world.open()
    amend(world, "add", "constraints", UTC)
    (body,) = world.tables.contracts(RUN)
    softer = {**entries(body["document"]), "constraints": []}

    world.tables.rows.contracts[RUN, 2] = {**body, "document": softer}  # type: ignore[attr-defined]  # of memory

    with pytest.raises(Damaged, match="version 2 of the contract of run run-1 is not signed"):
        world.controller()


def request(change: str, item: str, **value: str) -> JsonObject:
    return {"kind": "change_request", "change": change, "item": item, "reason": "it can't be",
            **value}


def test_the_model_may_ask_for_a_change_and_a_person_makes_it() -> None:
    world = governing(locked_requirements=["whole cents"])
    world.model.replies(request("amend", "requirement-1", value="cents, but for rates"))
    world.model.replies(command("true"))
    parked = world.go()

    world.desk.answer(RUN, "r1", approve=True, reason="fine", now=MORNING)
    head = world.go(1)

    assert parked.stopped is not None
    assert parked.stopped.why is Stop.WAITING
    assert head.contract == 2
    assert "requirement-1: cents, but for rates" in world.model.prompts[1].stable
    assert "A person has granted this (r1)" in world.model.prompts[1].volatile


def test_a_change_request_is_looked_at_again_when_the_contract_has_another_version() -> None:
    world = governing(locked_requirements=["whole cents"])
    world.model.replies(request("amend", "requirement-1", value="cents"))
    world.model.replies(command("true"))
    world.go()
    amend(world, "add", "must_remember", "be quick")

    with pytest.raises(SetupError, match="r1 was asked about version 1 of the contract"):
        world.desk.answer(RUN, "r1", approve=True, reason="", now=MORNING)
    world.desk.answer(RUN, "r1", approve=True, reason="", now=MORNING)

    assert world.go(1).contract == 3


def test_other_words_for_an_item_leave_what_is_typed_of_it() -> None:
    world = governing(constraints=[{"text": "Leave docs alone.", "forbid_paths": ["docs/**"]}])
    world.model.replies(request("amend", "constraint-1", value="Leave docs alone, always."))
    world.go()
    (item,) = world.queries.confirmations(RUN)
    shown = "\n".join(details(item, document(world.tables, RUN)))

    world.desk.answer(RUN, "r1", approve=True, reason="", now=MORNING)

    (constraint,) = contract_of(document(world.tables, RUN)).constraints
    assert (constraint.text, constraint.forbid_paths) == ("Leave docs alone, always.", ("docs/**",))
    assert '| - constraint-1: Leave docs alone. {"forbid_paths":["docs/**"]}' in shown
    assert '| + constraint-1: Leave docs alone, always. {"forbid_paths":["docs/**"]}' in shown


def test_what_is_shown_of_a_request_that_drops_what_is_typed_says_so() -> None:
    world = governing(constraints=[{"text": "Leave docs alone.", "forbid_paths": ["docs/**"]}])
    world.model.replies(request("amend", "constraint-1", value='{"text": "Leave docs alone."}'))
    world.go()
    (item,) = world.queries.confirmations(RUN)

    shown = list(details(item, document(world.tables, RUN)))

    assert '  | - constraint-1: Leave docs alone. {"forbid_paths":["docs/**"]}' in shown
    assert "  | + constraint-1: Leave docs alone." in shown


def test_nobody_is_asked_for_a_change_that_can_not_be_made() -> None:
    world = governing()
    world.model.replies(request("add", "constraints", value='{"max_filess": 3}'))

    head = world.step()

    assert "unknown key; did you mean 'max_files'?" in head.observation
    assert world.queries.confirmations(RUN) == ()


def test_a_run_is_not_finished_over_what_its_user_has_not_decided() -> None:
    world = governing(locked_requirements=["CSV timestamps are written in UTC"])
    world.authority.findings = {"green": Finding.VERIFIED}
    world.model.replies(command("write app.py x"))
    world.model.replies({"kind": "commit", "message": "."})
    world.model.replies({"kind": "finish", "result": "done", "summary": "."})
    world.go(2)
    world.desk.say(RUN, "write the CSV timestamps in local time instead", MORNING)

    head = world.go()

    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    (asked,) = [item for item in world.queries.confirmations(RUN) if item["kind"] == "criterion"]
    assert "x2 is not decided" in str(asked["reasons"])


def test_a_change_request_can_always_be_declined() -> None:
    world = governing(locked_requirements=["whole cents"])
    world.model.replies(request("retire", "requirement-1"))
    world.model.replies(command("true"))
    world.go()
    amend(world, "add", "must_remember", "be quick")

    world.desk.answer(RUN, "r1", approve=False, reason="", now=MORNING)

    assert world.go(1).contract == 2


def test_no_more_is_added_than_a_contract_can_hold() -> None:
    world = governing()
    world.open()
    for number in range(40):
        amend(world, "add", "must_remember", f"item {number}")

    with pytest.raises(SetupError, match="at most 40 entries, got 41"):
        amend(world, "add", "must_remember", "one more")


def test_a_declined_change_request_leaves_the_contract_and_says_why() -> None:
    world = governing(locked_requirements=["whole cents"])
    world.model.replies(request("retire", "requirement-1"))
    world.model.replies(command("true"))
    world.go()

    world.desk.answer(RUN, "r1", approve=False, reason="not negotiable", now=MORNING)
    head = world.go(1)

    assert head.contract == 1
    assert "declined this (r1)" in world.model.prompts[1].volatile
    assert "not negotiable" in world.model.prompts[1].volatile


@pytest.mark.parametrize(("action", "path", "said"), [
    (request("amend", "requirement-7", value="x"), "/action/item", "did you mean 'requirement-"),
    (request("amend", "requirement-1"), "/action/value", "missing; add it"),
    (request("retire", "requirement-1", value="x"), "/action/value", "takes no value"),
    (request("amend", "requirement-2", value="x"), "/action/item", "not to be asked about"),
    (request("add", "constraints", value='{"max_files": '), "/action/value", "JSON object"),
], ids=["no-item", "no-value", "a-value", "user-only", "no-json"])
def test_a_change_request_that_makes_no_sense_is_refused(
        action: JsonObject, path: str, said: str) -> None:
    world = governing(locked_requirements=["a", {"text": "b", "change_policy": "user"}])
    world.model.replies(action)

    head = world.step()

    assert f"{path}: " in head.observation
    assert said in head.observation
    assert kinds(world)[-1] == "refused"


def test_what_contradicts_a_locked_requirement_is_asked_about_and_not_said() -> None:
    world = governing(locked_requirements=["CSV timestamps are written in UTC"])
    world.model.replies(command("true"))
    world.open()

    asked = world.desk.say(RUN, "write the CSV timestamps in local time instead", MORNING)

    (item,) = world.queries.confirmations(RUN)
    assert asked == item["id"] == "x0"
    assert "in local time instead" in str(item["summary"])
    assert "CSV timestamps are written in UTC" in str(item["summary"])
    head = world.go(1)
    assert "local time" not in world.model.prompts[0].text.partition("# State")[2].partition(
        '"waiting"')[0]
    assert entries(head.state["waiting"])["x0"]


def test_what_the_user_insists_on_takes_the_place_of_what_he_had_locked() -> None:
    world = governing(locked_requirements=["CSV timestamps are written in UTC"])
    world.model.replies(command("true"))
    world.open()
    world.desk.say(RUN, "write the CSV timestamps in local time instead", MORNING)

    world.desk.answer(RUN, "x0", approve=True, reason="", now=MORNING)
    world.go(1)

    assert "requirement-1: write the CSV timestamps in local time" in world.model.prompts[0].stable


def test_a_message_about_something_else_is_said_at_once() -> None:
    world = governing(locked_requirements=["CSV timestamps are written in UTC"])
    world.model.replies(command("true"))
    world.open()

    assert world.desk.say(RUN, "the fixture is in tests/conftest.py", MORNING) == ""
    world.go(1)

    assert "the fixture is in tests/conftest.py" in world.model.prompts[0].volatile


def test_what_is_said_may_be_good_for_a_time() -> None:
    world = governing(locked_requirements=[{"text": "the API answers in v2", "freshness": "1h"}])
    for _ in range(2):
        world.model.replies(command("true"))
    first = world.go(1)
    world.clock.sleep(3601)

    second = world.go(1)

    assert entries(first.state["intent"])["stale"] == []
    assert entries(second.state["intent"])["stale"] == [
        "requirement-1: said 2026-01-05, good for 1:00:00"]


@pytest.mark.parametrize(("fields", "spent"), [
    ({"constraints": [{"deadline": "2026-01-05T08:30:00Z"}]}, "the deadline 2026-01-05"),
    ({"constraints": [{"max_usd": 0.02}]}, "$0.02 of $0.02 are used"),
], ids=["deadline", "money"])
def test_the_contract_itself_says_when_it_is_enough(fields: Any, spent: str) -> None:
    world = governing(**fields)
    for number in range(4):
        world.model.replies(command(f"write a.py {number}"))
    world.go(2)
    world.clock.sleep(1800)

    head = world.go()

    assert head.spent.steps == 2
    assert head.stopped is not None
    assert head.stopped.why is Stop.LIMIT
    assert spent in head.stopped.reason


def test_what_a_command_did_against_the_contract_is_undone_and_told() -> None:
    world = governing()
    world.authority.forbidden = "docs.md"
    world.model.replies(command("write docs.md x"), {"facts": {"a": {"text": "done"}}})
    shown = world.open().observation

    head = world.step()

    assert "docs.md" not in world.files.now
    assert head.state["facts"] == {}
    assert "constraint-1: the contract forbids to change docs.md" in head.observation
    assert "$ write docs.md x" in head.observation
    assert head.before == shown


def test_items_are_reached_by_recall_when_only_their_beginning_stands_in_the_prompt() -> None:
    long = "never " + "ever " * 60 + "END"
    world = governing(non_goals=[{"text": long, "retention": "listed"}], must_remember=[long])
    world.open()

    assert "END" in world.queries.item(RUN, "non-goal-1")
    shown = stable(world.controller().rules)
    assert "(the rest: recall non-goal-1)" in shown
    assert shown.count("END") == 1  # what must be remembered stands there whole


def test_a_pause_is_waited_for_and_a_stop_ends_between_two_steps() -> None:
    world = governing()
    for number in range(3):
        world.model.replies(command(f"write a.py {number}"))
    world.go(1)
    world.desk.wish(RUN, Wish.STOP, MORNING)

    stopped = world.go()

    assert (stopped.spent.steps, stopped.stopped) == (1, None)
    with world.lease() as lease:
        world.store.inbox.grant_wish(lease)
    assert world.go(1).spent.steps == 2
