"""What a person agrees to is what is done: once, in time, signed, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from controller.core.approval import Seal
from controller.core.canonical import JsonObject, entries
from controller.core.config import Approvals, Limits
from controller.core.contract import Contract, Criterion, PersonCheck
from controller.core.errors import SetupError
from controller.core.head import RunId, Stop, Stopped, Wish
from controller.core.policy import Policy
from controller.core.records import Effect, Outcome, Status
from controller.core.terms import contract_of
from controller.store.people import Desk
from controller.testing.clock import MORNING
from controller.testing.world import RUN, SEAL, Letters, World, Wrap, command, document, rules

ASKED = "write app.py -risky"
POLICY = Policy(confirm_commands=("-risky",))
DAY = 86400


def asking(mode: str = "park", **more: Any) -> World:
    world = World(rules=rules(policy=POLICY, approvals=Approvals(mode, DAY, 3600), **more))
    world.model.replies(command(ASKED), {"facts": {"a": {"text": "kept with it"}}})
    for number in range(6):
        world.model.replies(command(f"write b.py {number}"))
    return world


def answer(world: World, id: str = "c1", *, approve: bool = True) -> None:
    world.desk.answer(RUN, id, approve=approve, reason="", now=world.clock.now())


def kinds(world: World) -> list[str]:
    return [str(record["kind"]) for record in world.queries.audit(RUN)]


def test_what_a_person_agreed_to_is_done_once() -> None:
    world = asking()
    world.go()
    answer(world)

    head = world.go(1)

    assert world.files.writes[0] == ASKED
    assert world.files.writes.count(ASKED) == 1
    assert head.state["facts"] == {"a": {"text": "kept with it"}}
    with pytest.raises(SetupError, match="no open confirmation c1"):
        answer(world)


@pytest.mark.parametrize(("meanwhile", "why"), [
    (lambda world: world.files.now.update({"app.py": "by hand"}), "files have changed"),
    (lambda world: setattr(world, "rules", replace(world.rules, mark="another")),
     "the contract or the policy has changed"),
], ids=["another-tree", "another-policy"])
def test_an_answer_to_what_was_asked_is_none_to_what_would_be_done_now(
        meanwhile: Callable[[World], object], why: str) -> None:
    world = asking()
    world.go()
    answer(world)
    meanwhile(world)

    head = world.go()

    assert ASKED not in world.files.writes
    assert head.stopped is not None
    assert f"c1 ({why}, so it is asked again)" in head.stopped.reason
    answer(world)
    world.go(1)
    assert world.files.writes[0] == ASKED


def test_an_answer_for_a_head_that_has_moved_on_is_asked_again_and_then_waited_for() -> None:
    world = asking("continue")
    world.go(3)
    answer(world)

    head = world.go()

    assert head.stopped is not None
    assert "c1 (the run has gone on, files have changed, so it is asked again)" in (
        head.stopped.reason)
    answer(world)
    world.go(1)
    assert world.files.writes[-2:] == [ASKED, "write b.py 2"]  # what was granted is paid for


def test_an_answer_that_is_not_signed_is_recorded_and_asked_for_again() -> None:
    world = asking()
    world.go()
    forger = Desk(world.tables, Seal(b"another key"), "mallory")
    forger.answer(RUN, "c1", approve=True, reason="", now=MORNING)

    head = world.go()

    assert ASKED not in world.files.writes
    assert head.stopped is not None
    assert "c1 again (it is not signed with your key)" in head.stopped.reason
    assert "answer refused" in kinds(world)


@pytest.mark.parametrize("forged", [
    lambda row, _: {**row, "answer": {**row["answer"], "decision": "approved", "by": "ada"}},
    lambda row, _: {**row, "binding": {**row["binding"], "tree": "0" * 12}},
    lambda row, _: {**row, "expires": "2099-01-01T00:00:00+00:00"},
    lambda row, other: {**row, "answer": other},
    lambda row, _: {key: value for key, value in row.items() if key != "answer"},
], ids=["decision", "binding", "expiry", "of-another-question", "none"])
def test_a_row_that_somebody_has_written_is_no_answer(
        forged: Callable[[Any, JsonObject], JsonObject]) -> None:
    world = asking()
    world.go()
    answer(world, approve=False)
    (row,) = world.tables.confirmations(RUN)
    other = SEAL.signed({**entries(row.body["answer"]), "id": "c9", "decision": "approved"})
    with world.tables.transaction():
        world.tables.put_confirmation(replace(
            row, status="approved", body=forged(row.body, other)))

    head = world.go()

    assert ASKED not in world.files.writes
    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING


def test_an_answer_has_its_time_and_then_the_question_is_asked_again() -> None:
    world = asking()
    world.go()
    world.clock.sleep(DAY + 1)

    with pytest.raises(SetupError, match="c1 could be answered until"):
        answer(world)
    world.go()
    answer(world)
    world.go(1)

    assert world.files.writes[0] == ASKED
    assert "asked again" in kinds(world)


def test_an_approval_that_is_not_used_in_time_counts_no_more() -> None:
    world = asking()
    world.go()
    answer(world)
    world.clock.sleep(DAY + 1)

    head = world.go()

    assert ASKED not in world.files.writes
    assert head.stopped is not None
    assert "c1 again (it has expired)" in head.stopped.reason


def test_while_one_thing_waits_other_work_goes_on_and_the_state_shows_it() -> None:
    world = asking("continue")

    head = world.go(2)

    assert head.stopped is None
    assert world.files.writes == ["write b.py 0"]
    waits = entries(entries(head.state["waiting"])["c1"])
    assert (waits["kind"], waits["summary"], waits["step"]) == ("action", f"run {ASKED}", 1)
    assert "waits for a person as c1" in world.model.prompts[1].volatile
    assert '"waiting":{"c1"' in world.model.prompts[1].volatile


def test_what_waits_is_not_asked_about_twice() -> None:
    world = asking("continue")
    world.model.answers.insert(1, world.model.answers[0])

    head = world.go(2)

    assert "this waits for a person already (c1)" in head.observation
    assert len(world.queries.confirmations(RUN)) == 1


def test_a_declined_action_is_told_to_the_step_that_comes_next() -> None:
    world = asking("continue")
    world.go(2)
    answer(world, approve=False)

    head = world.go(1)

    assert "A person declined your action" in world.model.prompts[2].volatile
    assert head.state["waiting"] == {}
    assert entries(entries(head.state["confirmations"])["c1"])["answer"] == "declined"


def test_in_mode_wait_the_process_stays_until_the_answer_comes() -> None:
    world = asking("wait")
    world.mailbox = Letters([lambda: None, lambda: None, lambda: answer(world)])

    head = world.go(2)

    assert head.stopped is None
    assert world.files.writes == [ASKED, "write b.py 0"]


def test_a_wait_has_a_limit_and_then_the_run_parks() -> None:
    world = asking("wait")

    head = world.go()

    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    assert 3600 <= (world.clock.now() - MORNING).total_seconds() < 3700


def token(world: World, id: str = "c1") -> str:
    (item,) = [item for item in world.queries.confirmations(RUN) if item["id"] == id]
    return SEAL.token(RUN, id, item, "phone")


def remote(world: World, word: str, id: str = "c1", run: RunId = RUN) -> str:
    return world.desk.remote(run, id, word, way="phone", approve=True, reason="",
                             now=world.clock.now(), how="phone")


def test_a_token_answers_its_question_once() -> None:
    world = asking()
    world.go()
    word = token(world)

    assert remote(world, word) == ""
    assert remote(world, word) == "it is answered already; a token is good once"
    world.go(1)

    assert world.files.writes[0] == ASKED
    assert world.files.writes.count(ASKED) == 1


def _other_run(world: World, word: str) -> str:
    return SEAL.token("run-2", "c1", world.queries.confirmations(RUN)[0], "phone")


def _other_head(world: World, word: str) -> str:
    answer(world)
    world.files.now["x.py"] = "1"
    world.go()  # it is asked again, for another tree
    return word


def _other_policy(world: World, word: str) -> str:
    answer(world)
    world.rules = replace(world.rules, mark="another")
    world.go()
    return word


def _other_way(world: World, word: str) -> str:
    return SEAL.token(RUN, "c1", world.queries.confirmations(RUN)[0], "forge")


def _late(world: World, word: str) -> str:
    world.clock.sleep(DAY + 1)
    return word


@pytest.mark.parametrize("misuse", [
    lambda _, word: "A" * 16, lambda _, word: "", lambda _, word: word[:-1] + "\u00e9",
    _other_run, _other_head, _other_policy, _other_way, _late,
], ids=["wrong", "none", "not-ascii", "another-run", "another-head", "another-policy",
        "another-way", "expired"])
def test_a_token_that_is_not_for_this_is_refused_and_recorded(
        misuse: Callable[[World, str], str]) -> None:
    world = asking()
    world.go()
    word = misuse(world, token(world))
    before = kinds(world).count("answer refused")

    why = remote(world, word)

    assert why
    assert kinds(world).count("answer refused") == before + 1
    world.go()
    assert ASKED not in world.files.writes


def test_a_question_that_is_not_there_is_answered_by_nobody() -> None:
    world = asking()
    world.go()

    assert remote(world, token(world), "c7") == "there is no such question in this run"


def test_what_only_a_person_can_check_is_asked_when_the_model_says_that_it_is_done() -> None:
    look = Criterion("looks", "", PersonCheck("Does the page look right?"))
    world = World(rules=rules(contract=Contract("Make it nice.", (look,))))
    world.authority.findings = {}
    world.model.replies(command("write app.py -nice"))
    world.model.replies({"kind": "commit", "message": "Nice"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "."})

    head = world.go()

    (item,) = world.queries.confirmations(RUN)
    assert (item["kind"], item["reasons"]) == ("criterion", [
        "/action: looks: Does the page look right?"])
    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING


def test_the_end_of_a_run_closes_what_is_open() -> None:
    world = asking()
    world.go()
    with world.lease() as lease:
        world.store.stop(lease, Stopped(Stop.ABORTED, "."), MORNING)

    assert [item["status"] for item in world.queries.confirmations(RUN)] == ["used"]


def test_a_question_of_the_model_is_answered_in_words() -> None:
    world = World()
    world.model.replies({"kind": "ask", "question": "Which?"})
    world.model.replies(command("true"))
    world.go()

    world.desk.reply(RUN, "q1", "The left one", MORNING)
    world.go(1)

    assert "In answer to your question (Which?): The left one" in world.model.prompts[1].volatile


def test_nobody_is_asked_more_at_once_than_he_can_answer_and_work_goes_on() -> None:
    world = World(rules=rules(policy=POLICY, approvals=Approvals("continue", DAY, 0),
                              limits=Limits(refusals_in_a_row=50)))
    for number in range(30):
        world.model.replies(command(f"write a.py -risky{number}"))
    world.model.replies({"kind": "ask", "question": "May I?"})
    world.model.replies(command("write b.py x"))

    head = world.go(32)

    assert len(world.queries.confirmations(RUN)) == 20
    assert "20 questions wait for a person already" in world.model.prompts[31].volatile
    assert world.files.writes == ["write b.py x"]
    assert len(entries(head.state["waiting"])) == 20


def test_an_answer_about_one_effect_is_none_about_the_next() -> None:
    world = World()
    world.authority.blind = True
    for _ in range(2):
        world.model.replies(command("deploy it"))
    doubting = Wrap(executor=Doubting)
    world.go(1, doubting)
    (row,) = world.tables.confirmations(RUN)
    other = {**row.body, "binding": {**entries(row.body["binding"]), "subject": "another effect"}}
    with world.tables.transaction():
        world.tables.put_confirmation(replace(row, body=other))
    world.desk.decide(RUN, "u1", happened=True, now=MORNING)

    head = world.go()

    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    assert world.store.open_effect(RUN) is not None


def test_what_a_person_said_meanwhile_is_not_asked_once_more() -> None:
    world = World()
    world.authority.blind = True
    world.model.replies(command("deploy it"))
    world.model.replies(command("true"))
    world.go(1, Wrap(executor=Doubting))

    class Deciding:
        """He decides between two calls of the store."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            if name == "doubt":
                world.desk.decide(RUN, "u1", happened=True, now=MORNING)
            return getattr(self.inner, name)

    world.go(wrap=Wrap(store=Deciding))
    head = world.go(1)

    assert head.version == 2
    assert [item["status"] for item in world.queries.confirmations(RUN)] == ["used"]


@dataclass(frozen=True, slots=True)
class Doubting:
    """An executor whose line goes dead."""

    inner: Any

    def perform(self, effect: Effect) -> Outcome:
        return Outcome(Status.UNKNOWN, "the line went dead", effect.source)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_a_stop_is_heard_while_a_run_waits() -> None:
    world = asking("wait")
    world.mailbox = Letters([lambda: None, lambda: world.desk.wish(RUN, Wish.STOP, MORNING)])

    world.go()

    assert (world.clock.now() - MORNING).total_seconds() < 60


def test_another_answer_does_not_wake_a_run_that_waits_for_this_one() -> None:
    made = document(locked_requirements=["CSV timestamps are written in UTC"])
    world = asking("park", contract=contract_of(made))
    world.document = made
    world.go()
    world.desk.say(RUN, "write CSV timestamps in local time instead", MORNING)

    answer(world, "x1", approve=False)

    assert world.head.stopped is not None
    answer(world)
    assert world.head.stopped is None


def test_an_answer_of_before_answers_were_signed_is_asked_for_again() -> None:
    world = asking()
    world.go()
    (row,) = world.tables.confirmations(RUN)
    old = {key: value for key, value in row.body.items()
           if key in ("kind", "summary", "action", "call", "asked")}
    with world.tables.transaction():
        world.tables.put_confirmation(replace(row, status="approved", body=old))
    with world.lease() as lease:
        world.store.stop(lease, None, MORNING)

    head = world.go()

    assert head.stopped is not None
    assert "c1 again (it is not signed with your key)" in head.stopped.reason
