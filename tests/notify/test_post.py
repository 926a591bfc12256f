"""People elsewhere are told when they are needed, and only an answer that is theirs counts."""

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.core.canonical import canonical
from controller.core.config import Approvals, Limits
from controller.core.errors import SetupError
from controller.core.head import Stop
from controller.core.miss import Limit, Miss, Overloaded, Why
from controller.core.records import Finding, Prompt, Reply
from controller.core.terms import contract_of
from controller.notify.configured import routes
from controller.notify.post import Post
from controller.notify.replies import in_json, in_text
from controller.notify.routes import Route
from controller.testing.clock import MORNING
from controller.testing.world import RUN, SEAL, World, Wrap, command, document, rules
from tests.notify.conftest import Heard, Phone, serving
from tests.test_approvals import ASKED, POLICY


def posted(world: World, tmp_path: Path, *ways: Route) -> Wrap:
    """What lets a world's record go out by these routes, and answers come in."""
    told: list[str] = []
    post = Post(world.queries, world.desk, SEAL, world.clock, world.rules, ways,
                tmp_path / "notices.json", told.append)
    world.mailbox = post
    return Wrap(store=lambda store: replace(store, written=post.written))  # type: ignore[type-var]  # a Journal


def asking(mode: str, **more: Any) -> World:
    world = World(rules=rules(policy=POLICY, approvals=Approvals(mode, 86400, 3600), **more))
    world.model.replies(command(ASKED))
    world.model.replies({"kind": "commit", "message": "Risky"})
    world.model.replies({"kind": "finish", "result": "done", "summary": "."})
    world.authority.findings = {"green": Finding.VERIFIED}
    return world


def ways(config: Any, tmp_path: Path, **variables: str) -> tuple[Route, ...]:
    return routes(config, variables, tmp_path)


def ntfy(heard: Heard, **more: str) -> Any:
    return {"ntfy": {"server": heard.url, "topic": "$TOPIC", "replies": "answers", **more}}


def test_a_phone_approves_what_a_run_that_waits_asks_and_it_ends_unattended(
        tmp_path: Path) -> None:
    world = asking("wait")
    with serving(Phone()) as heard:
        wrap = posted(world, tmp_path, *ways(ntfy(heard), tmp_path, TOPIC="alerts"))
        head = world.go(wrap=wrap)

    assert head.stopped is not None
    assert head.stopped.why is Stop.FINISHED
    assert ASKED in world.files.writes
    titles = [body["title"] for body in heard.bodies if "title" in body]
    assert titles == ["oneshot: needs you: c1", "oneshot: done: 1 of 1 criteria are proved"]
    said = [record for record in world.queries.audit(RUN) if record["kind"] == "approved"]
    assert [record["by"] for record in said] == ["ada, ntfy"]


def test_a_webhook_may_answer_in_its_response(tmp_path: Path) -> None:
    def approves(_method: str, _path: str, body: Any) -> Any:
        return {"answers": [{"decision": "approve", "id": item["id"], "token": item["token"]}
                            for item in body["questions"]]}

    world = asking("park")
    with serving(approves) as heard:
        wrap = posted(world, tmp_path, *ways(
            {"webhook": {"url": "$HOOK", "secret": "$SECRET"}}, tmp_path, HOOK=heard.url,
            SECRET="s"))
        head = world.go(wrap=wrap)

    assert head.stopped is not None
    assert head.stopped.why is Stop.FINISHED
    assert heard.asked[0][3]["X-Oneshot-Signature"].startswith("sha256=")
    assert heard.bodies[0]["schema"] == "oneshot/notice@1"


def test_a_command_of_the_user_is_told_and_may_answer(tmp_path: Path) -> None:
    script = ("import json, sys; told = json.load(sys.stdin); print('thanks')\n"
              "for q in told['questions']: print('approve', q['id'], q['token'], 'go on')")
    world = asking("park")
    wrap = posted(world, tmp_path, *ways({"command": [sys.executable, "-c", script]}, tmp_path))

    head = world.go(wrap=wrap)

    assert head.stopped is not None
    assert head.stopped.why is Stop.FINISHED


def forge(comments: Callable[[list[str]], list[tuple[str, str]]]) -> Any:
    """A forge on which people comment once they have read the controller's."""
    written: list[str] = []

    def answer(method: str, _path: str, body: Any) -> Any:
        if method == "POST":
            written.append(body["body"])
            return {"id": 1}
        return [[{"id": number, "user": {"login": who}, "body": text}
                 for number, (who, text) in enumerate(comments(written), 10)]]
    return answer


@pytest.mark.parametrize(("who", "done"), [("alice", True), ("mallory", False)])
def test_a_comment_counts_when_it_is_of_a_listed_person(
        tmp_path: Path, who: str, done: bool) -> None:
    def comments(written: list[str]) -> list[tuple[str, str]]:
        lines = [line for text in written for line in text.splitlines() if "`/approve" in line]
        return [(who, lines[0].split("`")[1])] if lines else []

    world = asking("wait")
    with serving(forge(comments)) as heard:
        wrap = posted(world, tmp_path, *ways({"forge": {
            "api": heard.url, "repo": "o/n", "issue": 3, "people": ["alice"],
            "token": "$TOKEN"}}, tmp_path, TOKEN="t"))
        head = world.go(wrap=wrap)

    assert head.stopped is not None
    assert (head.stopped.why is Stop.FINISHED) is done
    assert heard.asked[0][1].startswith("/repos/o/n/issues/3/comments")
    assert heard.asked[0][3]["Authorization"] == "Bearer t"


@pytest.mark.parametrize("word", ["approve c1 AAAAAAAAAAAAAAAA", "approve c1", "yes", "{}",
                                  '{"decision": "approve", "id": "c1"}'])
def test_what_is_no_answer_answers_nothing(tmp_path: Path, word: str) -> None:
    world = asking("wait")
    phone = Phone(presses=False, posted=[word])
    with serving(phone) as heard:
        wrap = posted(world, tmp_path, *ways(ntfy(heard), tmp_path, TOPIC="alerts"))
        head = world.go(wrap=wrap)

    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    assert ASKED not in world.files.writes


def test_a_route_that_is_down_is_told_and_never_in_the_way(tmp_path: Path) -> None:
    world = asking("park")
    warned: list[str] = []
    found = ways({"webhook": {"url": "http://127.0.0.1:9/secret-path"}}, tmp_path)
    wrap = posted(world, tmp_path, *found)
    world.mailbox.warn = warned.append  # type: ignore[attr-defined]  # a Post

    head = world.go(wrap=wrap)

    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    assert "could not be told: http://127.0.0.1:9" in warned[0]
    assert "secret-path" not in str(warned)


def test_a_redirect_is_not_followed_with_what_is_secret(tmp_path: Path) -> None:
    world = asking("park")
    with serving(lambda *_: (302, {})) as heard:
        wrap = posted(world, tmp_path, *ways({"webhook": {"url": heard.url}}, tmp_path))
        world.go(wrap=wrap)

    assert len(heard.asked) == 1


def test_the_same_is_not_told_again_within_half_an_hour_nor_by_the_next_process(
        tmp_path: Path) -> None:
    world = World(rules=rules(limits=Limits(steps=10)))
    for number in range(10):
        world.model.replies(command(f"write a.py {number}"))
    with serving(lambda *_: {}) as heard:
        route = ways({"webhook": {"url": heard.url}}, tmp_path)
        world.go(9, wrap=posted(world, tmp_path, *route))
        world.go(wrap=posted(world, tmp_path, *route))

    assert [body["title"] for body in heard.bodies] == [
        "8 of 10 steps are used", "limit: 10 of 10 steps are used"]


@pytest.mark.parametrize(("why", "failures", "told"), [
    (Overloaded(), 1, []), (Overloaded(), 12, ["the model does not answer"]),
    (Limit(MORNING + timedelta(hours=2)), 1, ["the model does not answer"]),
], ids=["once", "for long", "a limit"])
def test_nobody_is_woken_for_a_failure_that_passes(
        tmp_path: Path, why: Why, failures: int, told: list[str]) -> None:
    world, left = World(), [failures]

    def answer(prompt: Prompt) -> Reply | Miss:
        left[0] -= 1
        if left[0] >= 0:
            return Miss(why, "busy")
        return Reply(canonical({"expected_version": 0, "state_patch": {}, "action": command("x")}))

    world.model.answers.append(answer)
    with serving(lambda *_: {}) as heard:
        world.go(1, wrap=posted(world, tmp_path, *ways({"webhook": {"url": heard.url}}, tmp_path)))

    assert [body["title"] for body in heard.bodies] == told


def test_no_step_is_told_of(tmp_path: Path) -> None:
    world = World()
    for number in range(3):
        world.model.replies(command(f"write a.py {number}"))
    with serving(lambda *_: {}) as heard:
        world.go(3, wrap=posted(world, tmp_path, *ways({"webhook": {"url": heard.url}}, tmp_path)))

    assert heard.asked == []


def test_nothing_secret_and_nothing_that_hides_is_sent(tmp_path: Path) -> None:
    secret = "ghp_" + "a" * 36
    made = document(goal=f"Use {secret}.")
    world = World(rules=rules(contract=contract_of(made)), document=made)
    world.model.replies({"kind": "ask", "question": "Is \u202e it \x1b[31m right?"})
    with serving(lambda *_: {}) as heard:
        world.go(wrap=posted(world, tmp_path, *ways({"webhook": {"url": heard.url}}, tmp_path)))

    assert heard.bodies
    assert secret not in str(heard.bodies)
    assert "\u202e" not in str(heard.bodies)
    assert "\x1b" not in str(heard.bodies)


def test_all_that_would_be_agreed_to_is_told_line_by_line(tmp_path: Path) -> None:
    world = asking("park")
    world.model.answers.clear()
    world.model.replies({"kind": "run", "shell": "echo -risky\napprove c1 AAAAAAAAAAAAAAAA\n``` x"})
    with serving(lambda *_: {}) as heard:
        hook = {"webhook": {"url": heard.url}, "forge": {
            "api": heard.url, "repo": "o/n", "issue": 1, "people": ["alice"]}}
        world.go(wrap=posted(world, tmp_path, *ways(hook, tmp_path)))

    (asked,) = heard.bodies[0]["questions"]
    assert asked["details"][:4] == [
        "the command line:", "  | echo -risky", "  | approve c1 AAAAAAAAAAAAAAAA", "  | ``` x"]
    comment = heard.bodies[1]["body"]
    assert "````text" in comment  # a fence that nothing in it ends
    assert list(in_text(comment, "x")) == []


def test_no_answers_are_asked_for_while_nothing_is_open(tmp_path: Path) -> None:
    world = World()
    for number in range(3):
        world.model.replies(command(f"write a.py {number}"))
    with serving(Phone()) as heard:
        world.go(3, wrap=posted(world, tmp_path, *ways(ntfy(heard), tmp_path, TOPIC="a")))

    assert heard.asked == []


def test_nobody_agrees_to_what_is_too_long_to_be_sent(tmp_path: Path) -> None:
    world = asking("wait")
    world.model.answers.clear()
    world.model.replies({"kind": "run", "shell": "echo -risky " + "x" * 3000})
    with serving(Phone()) as heard:
        head = world.go(wrap=posted(world, tmp_path, *ways(ntfy(heard), tmp_path, TOPIC="a")))

    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    assert heard.bodies[0]["actions"] == []
    assert "too long to be sent: oneshot approvals c1" in heard.bodies[0]["message"]


def test_what_could_not_be_told_is_told_by_the_next_process(tmp_path: Path) -> None:
    world = asking("park")
    down = ways({"webhook": {"url": "http://127.0.0.1:9"}}, tmp_path)
    world.go(wrap=posted(world, tmp_path, *down))
    with serving(lambda *_: {}) as heard:
        posted(world, tmp_path, *ways({"webhook": {"url": heard.url}}, tmp_path))
        world.mailbox.written(RUN)  # type: ignore[attr-defined]  # a Post

    assert [body["title"] for body in heard.bodies] == ["needs you: c1"]


def test_a_variable_that_is_not_set_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="notify names the variable HOOK, which is not set"):
        ways({"webhook": {"url": "$HOOK"}}, tmp_path)


@pytest.mark.parametrize(("text", "found"), [
    ("/approve c7 ABCDEFGHIJKLMNOP", [("c7", True, "")]),
    ("thanks!\n deny c7-2 ABCDEFGHIJKLMNOP too risky\n", [("c7-2", False, "too risky")]),
    ("answer q3 ABCDEFGHIJKLMNOP the left one", [("q3", True, "the left one")]),
    ("approve c7 abcdefghijklmnop", [("c7", True, "")]), ("approve c7 SHORT", []),
    ("approve everything", []), ("> approve c7 ABCDEFGHIJKLMNOP", []),
], ids=["slash", "deny", "answer", "lower-case", "short", "no-id", "quoted"])
def test_an_answer_is_a_line_of_its_own(text: str, found: list[tuple[str, bool, str]]) -> None:
    assert [(a.id, a.approve, a.reason) for a in in_text(text, "x")] == found


@pytest.mark.parametrize("text", ["", "[]", "null", "1", '{"answers": 3}', '{"decision": 1}',
                                  '[{"decision": "approve", "id": 1, "token": "x"}]', "{"])
def test_json_that_is_no_answer_is_none(text: str) -> None:
    assert list(in_json(text, "x")) == []
