"""What every adapter does, with its real client: one suite for all of them."""

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.core import records
from controller.core.canonical import JsonObject
from controller.core.gates import admit
from controller.core.head import Stop
from controller.core.miss import Miss, Unreachable
from controller.core.ports import Model
from controller.core.prompt import render
from controller.core.records import Call, Prompt, Reply
from controller.processes import marked
from controller.testing.clock import MORNING
from controller.testing.misbehaviour import cases
from controller.testing.model_server import ModelServer
from controller.testing.script import Script, to_ops
from controller.testing.wire import Answer, Delivery, ModelRequest, Usage
from controller.testing.world import RUN, World, Wrap, command
from tests.adapters.conftest import CLIENTS, Client, binary
from tests.adapters.matrix import tried
from tests.adapters.overhead import MOST, measured

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
        head = world.go(wrap=through(client.build(server.url, tmp_path)))

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
            assert words(sent.decode()) in words(request.text)


def words(text: str) -> str:
    """The text with all white space alike: some APIs take it in parts."""
    return " ".join(text.split())


def test_the_price_of_a_call_is_what_the_backend_said(client: Client, tmp_path: Path) -> None:
    usage = Usage(input=5020, cached=20, output=30)

    def answer(request: ModelRequest) -> Answer:
        return Answer(Script(STEPS, client.encode)(request).text, usage=usage)

    with ModelServer(answer) as server:
        reply = client.build(server.url, tmp_path).propose(prompt())

    assert isinstance(reply, Reply)
    if client.name == "command":
        assert reply.usage == records.Usage()  # a program has no place to say it
        return
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.output) == (5000, 20, 30)
    assert (reply.usage.usd is None) == (not client.name.startswith("claude_cli"))


def test_a_backend_that_is_not_there_is_unreachable(client: Client, tmp_path: Path) -> None:
    with ModelServer(lambda _: "") as server:
        url = server.url

    said = client.build(url, tmp_path).propose(prompt())

    assert isinstance(said, Miss)
    assert isinstance(said.why, Unreachable)


@pytest.mark.parametrize("case", [case.name for case in cases(ops=False)])
def test_every_misbehaviour_of_a_provider_is_told_for_what_it_is(
        client: Client, case: str, tmp_path: Path) -> None:
    """As scripts/adapter_matrix prints it: right class, nothing believed, nothing left, in time."""
    found = next(one for one in cases(ops=client.encode is to_ops) if one.name == case)

    assert tried(client, found, tmp_path).wrong == ""


def test_a_call_that_is_given_up_leaves_no_process_behind_when_we_die(tmp_path: Path) -> None:
    """The real claude, whose parent is killed in the middle of a call."""
    claude = CLIENTS[0]
    binary(claude.variable)
    silent = Answer("{}", delivery=Delivery.SILENT)
    with ModelServer(lambda _: silent) as server:
        ours = os.fork()
        if ours == 0:
            try:
                claude.build(server.url, tmp_path).propose(prompt())
            finally:
                os._exit(0)
        waited(lambda: bool(server.requests))
        os.kill(ours, signal.SIGKILL)
        os.waitpid(ours, 0)
        waited(lambda: not marked(str(tmp_path)))

    assert marked(str(tmp_path)) == ()


def waited(so: Callable[[], bool]) -> None:
    """Look until something is so, for 20 seconds at most."""
    over = threading.Event()
    for _ in range(400):
        if so():
            return
        over.wait(0.05)


@pytest.mark.parametrize("text", [
    "I would rather talk about it.", "[1, 2]",
    json.dumps({"expected_version": 0, "state_patch": [], "action": {"kind": "dance"}}),
], ids=["prose", "list", "no-such-action"])
def test_an_answer_that_is_no_transition_is_refused(
        client: Client, text: str, tmp_path: Path) -> None:
    world = World()
    before = world.open()
    with ModelServer(lambda _: text) as server:
        head = world.go(steps=1, wrap=through(client.build(server.url, tmp_path)))

    assert (head.version, head.state, head.spent.refusals_in_a_row) == (0, before.state, 1)
    assert "Your answer was refused" in head.observation


def test_a_key_that_stands_twice_is_seen(client: Client, tmp_path: Path) -> None:
    """A client that parses for us would take the last of two actions."""
    once = json.loads(Script(STEPS, client.encode)(_first(client)).text)
    text = json.dumps(once)[:-1] + ', "action": {"kind": "commit", "message": "evil"}}'
    world = World()
    world.open()
    with ModelServer(lambda _: text) as server:
        head = world.go(steps=1, wrap=through(client.build(server.url, tmp_path)))

    assert head.version == 0
    assert 'the key "action" stands twice' in head.observation


def test_a_large_state_goes_through(client: Client, tmp_path: Path) -> None:
    """Prompts are longer than a command line may be, and than a pipe holds."""
    world = World()
    head = world.open()

    large = replace(head, state={**head.state, "filler": "x" * 300_000})
    shown = render(world.rules, large)
    with ModelServer(Script(STEPS, client.encode)) as server:
        reply = client.build(server.url, tmp_path).propose(shown)

    assert isinstance(reply, Reply)
    call = Call(shown, reply, MORNING)
    candidate, _ = admit(call, head, world.authority.observe(head), world.rules)
    assert candidate.state["facts"] == {"cause": {"text": "it's “broken”", "source": "app.py:1"}}
    assert "x" * 300_000 in server.requests[0].text


def test_what_lies_around_reaches_no_call_and_nothing_is_added_that_need_not_be(
        client: Client, tmp_path: Path) -> None:
    """Instructions, hooks and servers of agent CLIs, planted wherever they might be looked for."""
    if client.name == "command":
        return  # it is the user's own program

    found = measured(client, tmp_path)

    assert (found.leaks, found.requests) == ((), 1)
    assert found.added is not None
    # pi tells the model in which folder it runs.
    folder = len(str(tmp_path)) if client.name == "pi_cli" else 0
    assert found.added - folder <= MOST.get(client.name, 600)


def _committed(world: World) -> list[JsonObject]:
    return [record for record in world.queries.audit(RUN) if record["kind"] == "committed"]


def _first(client: Client) -> ModelRequest:
    shown = prompt()
    return ModelRequest("/", {}, b"", {"input": shown.text})
