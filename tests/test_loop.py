"""The loop: what a step does to the head, and what survives when it dies anywhere."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.core.canonical import JsonObject, canonical
from controller.core.config import DriftConfig, Limits
from controller.core.drift import Drift
from controller.core.errors import LeaseLost, ModelUnusable, SetupError
from controller.core.head import Asking, Head, Spent, Stop
from controller.core.policy import Policy
from controller.core.projection import as_state
from controller.core.records import Finding
from controller.testing.clock import MORNING
from controller.testing.crash import Countdown, Died, dying_at
from controller.testing.world import DEPLOY, RUN, World, Wrap, command, rules

FACT: dict[str, Any] = {"facts": {"cause": {"text": "app.py is broken"}}}


def kinds(world: World) -> list[str]:
    return [str(record["kind"]) for record in world.queries.audit(RUN)]


def solve(world: World) -> None:
    """A whole run: look, fail, be refused, change, commit, prove."""
    world.model.replies({"kind": "read", "files": [{"path": "app.py"}]}, FACT)
    world.model.replies(command("write app.py -fixed"), {"plan": {
        "fix": {"text": "fix it", "status": "doing"}}})
    world.model.replies(command("true"), {"fact": {}})
    world.model.replies(command("fail"))
    world.model.replies(command("write test.py -checked"), {"plan": {"fix": {"status": "done"}}})
    world.model.replies(command("deploy it"))
    world.model.replies({"kind": "commit", "message": "Fix it"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "It is fixed."})


def proved(world: World) -> None:
    world.authority.findings["green"] = Finding.VERIFIED


def test_a_step_commits_the_patch_and_shows_what_the_action_showed() -> None:
    world = World()
    world.model.replies(command("true"), FACT)

    head = world.step()

    assert (head.version, head.state["facts"]) == (1, FACT["facts"])
    assert head.observation == "$ true"


def test_a_failed_action_commits_no_patch_and_loses_no_observation() -> None:
    world = World()
    world.model.replies(command("fail"), FACT)
    shown = world.open().observation

    head = world.step()

    assert (head.version, head.state["facts"]) == (1, {})
    assert "there is no such program" in head.observation
    assert head.before == shown


def test_invalid_patch_changes_nothing() -> None:
    world = World()
    before = world.open()
    bad: list[dict[str, Any]] = [
        {"fact": {}}, {"criteria": {}}, {"facts": {"A": {"text": "x"}}}, {"facts": {"a": {}}},
        {"facts": {"a": {"text": "x" * 401}}}, {"plan": []}, {"budget": None},
        {"facts": None, "recent": []}]
    for patch in bad:
        world.model.replies(command("write app.py 1"), patch)

    heads = [world.step() for _ in world.model.answers]

    assert {canonical(head.state) for head in heads} == {canonical(before.state)}
    assert {head.version for head in heads} == {0}
    assert world.files.writes == []
    assert all("refused" in head.observation for head in heads)


@pytest.mark.parametrize("body", [
    b"", b"I think we should", b"[]", b"{}", b'{"a":', b"\xff\xfe", b"null", b'"x"', b"NaN",
    b'{"expected_version":0,"expected_version":0,"state_patch":{},"action":{"kind":"ask"}}',
])
def test_a_malformed_reply_changes_nothing_but_the_next_observation(body: bytes) -> None:
    world = World()
    before = world.open()
    world.model.says(body)

    head = world.step()

    assert (head.version, head.state) == (before.version, before.state)
    assert "Your answer was refused" in head.observation
    assert head.before == before.observation


def test_a_reply_for_an_older_version_is_refused() -> None:
    world = World()
    world.model.replies(command("true"))
    world.model.replies(command("write app.py 1"), version=0)
    world.step()

    head = world.step()

    assert world.files.writes == []
    assert "expected 1, the version shown, got 0" in head.observation


def test_what_the_user_says_between_two_refusals_stays_until_a_step_commits() -> None:
    world = World()
    world.model.says(b"no")
    world.model.says(b"no again")
    world.model.says(b"still no")
    world.model.replies(command("true"))
    world.model.replies(command("true2"))
    world.step()
    world.desk.say(RUN, "Mind the CANARY", MORNING)
    world.files.now["new.py"] = "from somebody else"

    for _ in range(4):
        world.step()

    shown = [("CANARY" in prompt.text, "Drift" in prompt.text) for prompt in world.model.prompts]
    assert shown == [(False, False), (True, True), (True, True), (True, True), (False, False)]


def test_corrections_of_corrections_still_show_what_was_seen_first() -> None:
    world = World()
    first = world.open().observation
    for _ in range(4):
        world.model.says(b"no")

    for _ in range(4):
        head = world.step()

    assert head.before == first
    assert head.observation.count("Your answer was refused") == 1


def test_no_history_leaks_into_a_later_prompt() -> None:
    world = World()
    world.model.replies(command("echo CANARY-ACTION"), reasoning="CANARY-REASONING")
    world.model.replies(command("true"))
    world.model.replies(command("true2"))
    world.model.replies(command("true3"))
    world.model.replies(command("true4"))
    for _ in range(5):
        world.step()

    seen = [[canary for canary in ("CANARY-ACTION", "CANARY-REASONING") if canary in prompt.text]
            for prompt in world.model.prompts]

    # The action's own observation shows it once; `recent` names the last three actions.
    assert seen == [[], ["CANARY-ACTION"], ["CANARY-ACTION"], ["CANARY-ACTION"], []]


def test_with_k_0_only_the_latest_observation_tells_of_an_action() -> None:
    world = World(rules=rules(limits=Limits(recent=0)))
    world.model.replies(command("echo CANARY"))
    world.model.replies(command("true"))
    world.model.replies(command("true2"))
    for _ in range(3):
        world.step()

    assert ["CANARY" in prompt.text for prompt in world.model.prompts] == [False, True, False]


def test_bounded_prompt_growth() -> None:
    """Step 5 and step 500 send the same order of bytes, whatever was seen between."""
    from controller.core.prompt import bound

    world = World(rules=rules(limits=Limits(steps=None)))
    for number in range(500):
        world.model.replies(command(f"echo {number} " + "x" * 19000),
                            {"facts": {f"f{number % 40}": {"text": f"{number:05}" * 80}}})
    world.go(steps=500)

    sizes = [len(prompt.text.encode()) for prompt in world.model.prompts]

    assert max(sizes) <= bound(world.rules)
    assert sizes[499] - sizes[45] < 200
    assert {prompt.stable for prompt in world.model.prompts} == {world.model.prompts[0].stable}


def test_drift_is_taken_over_and_told() -> None:
    world = World()
    world.model.replies(command("true"))
    world.model.replies(command("true2"))
    world.step()
    world.files.now["new.py"] = "from somebody else"

    head = world.step()

    assert "Drift" in world.model.prompts[1].text
    assert head.state["source_authority"] == as_state(world.files.source(), head.state)
    assert world.files.now["new.py"] == "from somebody else"


def test_a_reply_made_while_the_tree_changed_is_refused() -> None:
    world = World()
    world.model.replies(command("write app.py 1"))
    world.model.while_thinking = lambda: world.files.now.update(app="changed meanwhile")

    head = world.step()

    assert (head.version, world.files.writes) == (0, [])
    assert "changed while you answered" in head.observation


def test_what_the_user_says_is_shown_once() -> None:
    world = World()
    for number in range(3):
        world.model.replies(command(f"true{number}"))
    world.step()
    world.desk.say(RUN, "Mind the CANARY", MORNING)

    world.step()
    world.step()

    assert ["CANARY" in prompt.text for prompt in world.model.prompts] == [False, True, False]


def test_what_the_user_says_while_an_action_waits_is_not_lost() -> None:
    world = World(rules=rules(policy=Policy(confirm_commands=("write",))))
    world.model.replies(command("write app.py 1"))
    world.model.replies(command("true"))
    world.go()
    desk = world.desk
    desk.say(RUN, "Mind the CANARY", MORNING)
    desk.answer(RUN, "c1", approve=True, reason="", now=MORNING)

    world.go(steps=1)

    assert world.files.writes == ["write app.py 1"]
    assert ["CANARY" in prompt.text for prompt in world.model.prompts] == [False, True]


def test_a_grant_is_for_one_time() -> None:
    world = World(rules=rules(policy=Policy(confirm_commands=("write",))))
    world.model.replies(command("write app.py 1"))
    world.model.replies(command("write app.py 1"))
    world.go()
    world.desk.answer(RUN, "c1", approve=True, reason="", now=MORNING)

    head = world.go()

    assert head.stopped is not None
    assert (head.stopped.why, head.stopped.reason) == (
        Stop.WAITING, "a person must answer c2: run write app.py 1")
    assert world.files.writes == ["write app.py 1"]


def test_a_run_is_done_only_when_every_criterion_is_proved() -> None:
    world = World()
    world.model.replies({"kind": "finish", "result": "done", "summary": "Done."})
    world.model.replies(command("write app.py -fixed"))
    world.model.replies({"kind": "commit", "message": "Fix"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "Done."})
    world.model.replies({"kind": "finish", "result": "done", "summary": "Done, really."})

    untouched, _, _, failing = (world.step() for _ in range(4))
    proved(world)
    head = world.step()

    assert "no change proves nothing" in untouched.observation
    assert failing.stopped is None
    assert "green: failing" in failing.observation
    assert head.stopped is not None
    assert head.stopped.why is Stop.FINISHED


def test_a_broken_postcondition_undoes_the_patch() -> None:
    world = World()
    world.authority.postcondition = Finding.FAILING
    world.model.replies(command("write app.py -fixed"))
    world.model.replies({"kind": "commit", "message": "Fix"}, FACT)
    world.step()

    head = world.step()

    assert head.state["facts"] == {}
    assert "the branch has moved" in head.observation


def test_a_criterion_that_cannot_be_checked_stops_the_run_before_it_begins() -> None:
    world = World()
    world.authority.findings["green"] = Finding.UNKNOWN

    with pytest.raises(SetupError, match="the check of green can't be run"):
        world.open()

    assert world.queries.runs() == ()


@pytest.mark.parametrize(("limits", "why", "steps"), [
    (Limits(steps=2), Stop.LIMIT, 2),
    (Limits(usd=0.025), Stop.LIMIT, 3),
    (Limits(refusals_in_a_row=3), Stop.STUCK, 3),
    (Limits(seconds=60), Stop.LIMIT, 1),
], ids=["steps", "money", "refusals", "time"])
def test_a_run_ends_at_its_limit(limits: Limits, why: Stop, steps: int) -> None:
    world = World(rules=rules(limits=limits))
    for number in range(9):
        if why is Stop.STUCK:
            world.model.says(b"no")
        else:
            world.model.replies(command(f"true{number}"))
    world.open()
    if limits.seconds:
        world.model.while_thinking = lambda: world.clock.sleep(90)

    head = world.go()

    assert head.stopped is not None
    assert (head.stopped.why, head.spent.steps) == (why, steps)


def test_the_same_action_with_the_same_result_is_noted_and_then_ends_the_run() -> None:
    world = World()
    for _ in range(9):
        world.model.replies(command("true"))

    head = world.go()

    assert head.stopped is not None
    assert (head.stopped.why, head.spent.steps) == (Stop.STUCK, 4)
    assert "the same action has given the same result 3 times" in world.model.prompts[3].text
    assert "The controller notes" not in world.model.prompts[2].text


def test_three_failures_of_different_actions_are_no_repetition() -> None:
    world = World()
    for number in range(4):
        world.model.replies({"kind": "run", "argv": ["fail", str(number)]})

    assert world.go(steps=4).stopped is None


def test_a_model_that_gives_up_stops_the_run_with_its_reason() -> None:
    world = World()
    world.model.replies({"kind": "finish", "result": "impossible", "summary": "No network."})

    head = world.go()

    assert head.stopped is not None
    assert (head.stopped.why, head.stopped.reason) == (Stop.STUCK, "No network.")


def test_a_question_parks_the_run_until_somebody_answers() -> None:
    world = World()
    world.model.replies({"kind": "ask", "question": "Which one?"})
    world.model.replies(command("true"))
    asked = world.go()

    assert world.go() == asked
    world.desk.say(RUN, "The left one", MORNING)
    world.go(steps=1)

    assert asked.stopped is not None
    assert asked.stopped.why is Stop.WAITING
    assert "The left one" in world.model.prompts[1].text


def test_an_unknown_outcome_waits_for_a_person_and_is_not_repeated_blindly() -> None:
    world = World()
    world.model.replies(command("doubt"))

    head = world.go()

    assert head.stopped is not None
    assert (head.stopped.why, head.version) == (Stop.WAITING, 0)
    assert world.store.open_effect(RUN) is not None


def test_a_model_that_can_not_be_reached_leaves_the_run_as_it_is() -> None:
    world = World()
    before = world.open()

    with pytest.raises(ModelUnusable):
        world.go()

    assert unpaid(world.head) == unpaid(before)
    assert world.queries.holder(RUN) is None


def test_two_controllers_do_not_step_one_run() -> None:
    world = World()
    world.open()

    with world.lease(), pytest.raises(LeaseLost, match="held by process 1 on here"):
        world.go()


def test_resume_round_trip() -> None:
    """A run in pieces, each in a controller of its own, ends as a run in one piece."""
    whole, pieces = World(), World()
    for world in (whole, pieces):
        solve(world)
        proved(world)

    expected = whole.go()
    while pieces.open().stopped is None:
        pieces.go(steps=1)

    assert pieces.head == expected
    assert pieces.files == whole.files


def ask_people(world: World) -> None:
    """A run that needs people: an action to allow, one to decline, a question, a message."""
    world.rules = rules(policy=Policy(confirm_commands=("write",), external=(DEPLOY,)))
    world.model.replies(command("write app.py -fixed"), FACT)
    world.model.replies(command("write test.py -weakened"))
    world.model.replies({"kind": "ask", "question": "Which one?"})
    world.model.replies(command("deploy it"))
    world.model.replies({"kind": "commit", "message": "Fix it"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "It is fixed."})


def change_minds(world: World) -> None:
    """A run whose contract becomes another: the model asks for it, and so entries make way."""
    world.model.replies(command("write app.py -fixed"), {"facts": {
        f"f{number}": {"text": "x"} for number in range(40)}})
    world.model.replies({"kind": "change_request", "change": "add", "item": "must_remember",
                         "value": "be quick", "reason": "it is late"})
    world.model.replies(command("true"), {"facts": {"more": {"text": "y"}}, "lessons": ["l"]})
    world.model.replies({"kind": "commit", "message": "Fix it"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "It is fixed."})


def go_with_people(world: World, wrap: Wrap | None = None) -> None:
    """Run to the end, with people who answer whatever the run waits for."""
    desk = world.desk
    while (head := world.go(wrap=wrap)).stopped and head.stopped.why is Stop.WAITING:
        (waiting,) = (item for item in world.queries.confirmations(RUN)
                      if item["status"] == "open")
        if waiting["kind"] == "question":
            desk.say(RUN, "The left one", MORNING)
        else:
            desk.answer(RUN, str(waiting["id"]), approve=waiting["id"] != "c2",
                        reason="not the tests", now=MORNING)


def play(scenario: Callable[[World], None]) -> World:
    world = World()
    scenario(world)
    proved(world)
    world.open()
    return world


def _boundaries(scenario: Callable[[World], None]) -> list[tuple[Callable[[World], None], int]]:
    """Every point between two calls of a run in one piece."""
    world, countdown = play(scenario), Countdown(-1)
    go_with_people(world, dying_at(countdown))
    return [(scenario, number) for number in range(len(countdown.passed))]


def unpaid(head: Head) -> Head:
    """The head without what was paid for it, and whom."""
    return replace(head, spent=Spent(), asking=Asking())


@pytest.mark.parametrize(("scenario", "boundary"), [
    *_boundaries(solve), *_boundaries(ask_people), *_boundaries(change_minds)],
    ids=lambda value: value.__name__ if callable(value) else str(value))
def test_dying_anywhere_ends_in_the_same_head(
        scenario: Callable[[World], None], boundary: int) -> None:
    expected, world = play(scenario), play(scenario)
    go_with_people(expected)
    with pytest.raises(Died):
        go_with_people(world, dying_at(Countdown(boundary)))
    row = world.tables.run(RUN)
    assert row is not None
    assert row.holder is not None

    world.alive = False
    go_with_people(world)

    assert unpaid(world.head) == unpaid(expected.head)
    assert world.head.spent.steps == expected.head.spent.steps
    assert world.head.spent.lost <= 1  # the call that was under way counts at its worst
    assert world.head.stopped is not None
    assert world.head.stopped.why is Stop.FINISHED
    assert world.files.now == expected.files.now
    assert world.files.branch == expected.files.branch
    assert world.queries.broken_link(RUN) is None
    assert [kind for kind in kinds(world) if kind not in ("found", "lost")] == kinds(expected)
    assert world.files.outside == expected.files.outside


@pytest.mark.parametrize(("rule", "stopped"), [
    ("adopt", None), ("ask", Stop.WAITING), ("stop", Stop.STUCK)])
def test_drift_is_told_asked_about_or_stands_still_as_the_user_wants_it(
        rule: str, stopped: Stop | None) -> None:
    world = World(rules=rules(drift=DriftConfig(issue=rule)))
    world.model.replies(command("true"))
    world.model.replies(command("true"), version=1)
    seen: JsonObject = {"source": "issues/7", "digest": "new", "state": "open"}
    world.open()
    world.authority.drift = (Drift("issue", "it says something else now"),)
    world.authority.seen = {"issue": seen}

    head = world.step()

    assert (head.stopped and head.stopped.why) is stopped
    assert head.state["issue"] == seen  # so that it is no news next time
    shown = world.model.prompts[0].text if world.model.prompts else str(head.stopped)
    assert "Drift (issue): it says something else now" in shown


def test_news_is_told_whatever_the_rule() -> None:
    world = World(rules=rules(drift=DriftConfig(ci="stop")))
    world.model.replies(command("true"))
    world.open()
    world.authority.drift = (Drift("ci", "build: success", news=True),)

    assert world.step().stopped is None
    assert "Drift (ci): build: success" in world.model.prompts[0].text


def test_a_run_that_stood_still_for_drift_goes_on_when_it_is_resumed() -> None:
    world = World(rules=rules(drift=DriftConfig(issue="stop")))
    world.model.replies(command("true"), version=1)
    world.open()
    world.authority.drift = (Drift("issue", "it is another"),)
    assert world.go(steps=1).stopped

    world.authority.drift = ()
    head = world.go(steps=1)

    assert (head.stopped, head.version) == (None, 2)
