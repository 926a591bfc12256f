"""What every adapter does, with its real client: one suite for all of them."""

import json
import threading
from pathlib import Path

import pytest

from controller.core.canonical import JsonObject
from controller.core.errors import ModelUnavailable, ModelUnusable
from controller.core.gates import admit
from controller.core.head import Stop
from controller.core.ports import Model
from controller.core.prompt import render
from controller.core.records import Call, Prompt
from controller.testing.clock import MORNING
from controller.testing.model_server import ModelServer
from controller.testing.script import Script
from controller.testing.wire import Answer, ModelRequest, Usage
from controller.testing.world import RUN, World, Wrap, command
from tests.adapters.conftest import Client

STEPS: list[JsonObject] = [
    {"action": command("echo CANARY-ACTION"), "reasoning": "CANARY-REASONING",
     "state_patch": {"facts": {"cause": {"text": "it's “broken”", "source": "app.py:1"}}}},
    {"action": {"kind": "read", "files": [{"path": "app.py", "first": 1}]},
     "state_patch": {"facts": {"cause": None}, "files": {"src/a~b.py": "odd name"}}},
    {"action": command("true"), "state_patch": {}},
    {"action": {"kind": "edit", "changes": [{"op": "write", "path": "a", "content": "x\n"}],
                "check": {"argv": ["true"]}}, "state_patch": {}},
    {"action": {"kind": "finish", "result": "impossible", "summary": "enough"},
     "state_patch": {"plan": {"a": {"text": "t", "status": "done"}}}},
]


def prompt() -> Prompt:
    world = World()
    return render(world.rules, world.open())


def through(model: Model) -> Wrap:
    return Wrap(model=lambda _: model)


def test_a_whole_run_and_no_history_leak(client: Client, tmp_path: Path) -> None:
    """Only P, I, Σ, O reach the wire: earlier observations, actions, reasoning never do."""
    world = World()
    with ModelServer(Script(STEPS, client.encode)) as server:
        head = world.go(wrap=through(client.build(server.url, tmp_path, 60)))

    assert head.stopped is not None
    assert (head.stopped.why, head.stopped.reason, head.version) == (Stop.STUCK, "enough", 5)
    assert head.state["files"] == {"src/a~b.py": "odd name"}
    assert head.state["plan"] == {"a": {"text": "t", "status": "done"}}
    assert len(server.requests) == 5
    bodies = [request.body.decode() for request in server.requests]
    assert ["CANARY-REASONING" in body for body in bodies] == [False] * 5
    assert ["CANARY-ACTION" in body for body in bodies] == [False, True, True, True, False]
    for request, record in zip(server.requests, _committed(world), strict=True):
        call = record["call"]
        assert isinstance(call, dict)
        for part in ("stable", "volatile"):
            sent = world.tables.artifact(str(call[part]))
            assert sent is not None
            assert sent.decode().strip() in request.text


def test_the_price_of_a_call_is_what_the_backend_said(client: Client, tmp_path: Path) -> None:
    usage = Usage(input=120, cached=20, output=30)

    def answer(request: ModelRequest) -> Answer:
        return Answer(Script(STEPS, client.encode)(request).text, usage=usage)

    with ModelServer(answer) as server:
        reply = client.build(server.url, tmp_path, 60).propose(prompt())

    assert (reply.usage.input, reply.usage.cache_read, reply.usage.output) == (100, 20, 30)
    assert (reply.usage.usd is None) == (client.name != "claude_cli")


@pytest.mark.parametrize(("status", "fault"), [
    (401, ModelUnusable), (404, ModelUnusable), (429, ModelUnavailable), (500, ModelUnavailable),
    (529, ModelUnavailable),
])
def test_a_failing_backend_is_named_by_whose_fault_it_is(
        client: Client, status: int, fault: type[Exception], tmp_path: Path) -> None:
    with ModelServer(lambda _: Answer("no", status=status)) as server:
        model = client.build(server.url, tmp_path, 60)
        with pytest.raises(fault):
            model.propose(prompt())

    # Claude asks a model it can't find a second time, without streaming, whatever its settings.
    assert len(server.requests) == (2 if (client.name, status) == ("claude_cli", 404) else 1)


def test_a_backend_that_is_not_there_is_unavailable(client: Client, tmp_path: Path) -> None:
    with ModelServer(lambda _: "") as server:
        url = server.url
    model = client.build(url, tmp_path, 60)

    with pytest.raises(ModelUnavailable):
        model.propose(prompt())


def test_a_backend_that_never_answers_is_given_up(client: Client, tmp_path: Path) -> None:
    over = threading.Event()

    def silent(_: ModelRequest) -> str:
        over.wait(30)
        return "{}"

    with ModelServer(silent) as server:
        model = client.build(server.url, tmp_path, 3)
        with pytest.raises(ModelUnavailable):
            model.propose(prompt())
        over.set()

    assert not (tmp_path / "child").exists()


@pytest.mark.parametrize("text", [
    "I would rather talk about it.", "", "[1, 2]",
    json.dumps({"expected_version": 0, "state_patch": [], "action": {"kind": "dance"}}),
], ids=["prose", "empty", "list", "no-such-action"])
def test_an_answer_that_is_no_transition_is_refused(
        client: Client, text: str, tmp_path: Path) -> None:
    world = World()
    before = world.open()
    with ModelServer(lambda _: text) as server:
        head = world.go(steps=1, wrap=through(client.build(server.url, tmp_path, 60)))

    assert (head.version, head.state, head.spent.refusals_in_a_row) == (0, before.state, 1)
    assert "Your answer was refused" in head.observation


def test_a_key_that_stands_twice_is_seen(client: Client, tmp_path: Path) -> None:
    """A client that parses for us would take the last of two actions."""
    once = json.loads(Script(STEPS, client.encode)(_first(client)).text)
    text = json.dumps(once)[:-1] + ', "action": {"kind": "commit", "message": "evil"}}'
    world = World()
    world.open()
    with ModelServer(lambda _: text) as server:
        head = world.go(steps=1, wrap=through(client.build(server.url, tmp_path, 60)))

    assert head.version == 0
    assert 'the key "action" stands twice' in head.observation


def test_a_large_state_goes_through(client: Client, tmp_path: Path) -> None:
    """Prompts are longer than a command line may be, and than a pipe holds."""
    world = World()
    head = world.open()
    from dataclasses import replace

    large = replace(head, state={**head.state, "filler": "x" * 300_000})
    shown = render(world.rules, large)
    with ModelServer(Script(STEPS, client.encode)) as server:
        reply = client.build(server.url, tmp_path, 60).propose(shown)

    call = Call(shown, reply, MORNING)
    candidate, _ = admit(call, head, world.authority.observe(head), world.rules)
    assert candidate.state["facts"] == {"cause": {"text": "it's “broken”", "source": "app.py:1"}}
    assert "x" * 300_000 in server.requests[0].text


def test_what_lies_around_reaches_no_call(client: Client, tmp_path: Path) -> None:
    """Instructions, hooks and memories of agent CLIs, planted wherever they might be looked for."""
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command":
            f"touch {tmp_path}/EXECUTED; echo CANARY"}]}]}}
    for folder in (tmp_path, tmp_path / "empty", tmp_path / "home", tmp_path / "home/.codex",
                   tmp_path / "home/.claude", tmp_path / "empty/.claude"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md", ".mcp.json"):
            (folder / name).write_text("CANARY")
        (folder / "settings.json").write_text(json.dumps(hook))
    with ModelServer(Script(STEPS, client.encode)) as server:
        client.build(server.url, tmp_path, 60).propose(prompt())

    assert "CANARY" not in server.requests[0].body.decode()
    assert not (tmp_path / "EXECUTED").exists()


def _committed(world: World) -> list[JsonObject]:
    return [record for record in world.queries.audit(RUN) if record["kind"] == "committed"]


def _first(client: Client) -> ModelRequest:
    shown = prompt()
    return ModelRequest("/", {}, b"", {"input": shown.text})
