"""Ten thousand transitions that somebody made up: none breaks anything or oversteps."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.core.canonical import JsonObject, canonical
from controller.core.errors import ModelUnavailable
from controller.core.rules import MODEL
from controller.testing.world import World

TEXT = st.one_of(st.text(max_size=12), st.sampled_from([
    "app.py", "../x", "/etc/passwd", ".git/config", "write app.py x", "fail", "doubt", "deploy it",
    "a\u0000b", "\ud800", "\u202e", "ghp_" + "a" * 36, "x" * 450, "~", "-rf", "intent", "done"]))
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-2**70, 2**70), TEXT,
                   st.floats(allow_nan=False, allow_infinity=False))
JSON = st.recursive(SCALAR, lambda inner: st.one_of(
    st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)), max_leaves=6)
ID = st.sampled_from(["a", "b", "fix-it", "A", "__proto__", "0"])
FIELDS = ["facts", "plan", "hypotheses", "files", "questions", "decisions", "lessons"]
OWN = st.dictionaries(st.sampled_from(FIELDS), st.one_of(JSON, st.dictionaries(ID, st.one_of(
    st.none(), st.fixed_dictionaries({"text": TEXT}, optional={
        "status": st.sampled_from(["todo", "doing", "done", "open", "confirmed"]),
        "evidence": TEXT})), max_size=3)), max_size=2)
PATCH = st.one_of(OWN, st.dictionaries(st.sampled_from(
    ["intent", "criteria", "source_authority", "recent", "budget", "confirmations", "x"]), JSON,
    max_size=2), JSON)
CHANGE = st.fixed_dictionaries({"op": st.sampled_from(["write", "replace", "delete", "move", "x"]),
                                "path": TEXT}, optional={
    "content": TEXT, "old": TEXT, "new": TEXT, "to": TEXT})
ACTION = st.one_of(
    JSON, st.fixed_dictionaries({"kind": st.just("run"), "shell": TEXT}, optional={
        "network": st.booleans(), "tty": st.booleans(), "timeout": st.integers(-1, 10**6)}),
    st.fixed_dictionaries({"kind": st.just("edit"), "changes": st.lists(CHANGE, max_size=3)}),
    st.fixed_dictionaries({"kind": st.just("read"), "files": st.lists(
        st.fixed_dictionaries({"path": TEXT}), max_size=2)}),
    st.fixed_dictionaries({"kind": st.sampled_from(["commit", "x"]), "message": TEXT}),
    st.fixed_dictionaries({"kind": st.just("finish"), "result": st.sampled_from(
        ["done", "impossible", "x"]), "summary": TEXT}),
    st.fixed_dictionaries({"kind": st.sampled_from(
        ["search", "recall", "ask", "adopt", "restore"])}, optional={
        "pattern": TEXT, "query": TEXT, "question": TEXT}))
REPLY = st.fixed_dictionaries({"state_patch": PATCH, "action": ACTION}, optional={
    "expected_version": st.one_of(st.integers(0, 3), JSON), "reasoning": TEXT, "extra": JSON})

_worlds: list[World] = []


@contextmanager
def standing() -> Iterator[World]:
    """A run that goes on from where the transition before has left it, as long as it can."""
    if not _worlds or _worlds[-1].head.stopped or _worlds[-1].head.spent.steps > 150:
        _worlds[:] = [World()]
        _worlds[-1].open()
    yield _worlds[-1]


def theirs(world: World) -> JsonObject:
    """What of the state is not the model's, but for what the controller writes of a step."""
    written = {"recent", "budget", "source_authority", "criteria", "runtime_evidence",
               "confirmations", "proof", "waiting", "desired", "evicted", "delivery"}
    return {name: world.head.state.get(name) for name, owner in world.rules.owners.items()
            if owner != MODEL and name not in written}


@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(REPLY, st.booleans())
def test_no_transition_breaks_the_controller_or_changes_what_is_not_its(
        reply: dict[str, Any], right_version: bool) -> None:
    with standing() as world:
        head, before = world.head, theirs(world)
        if right_version:
            reply = {**reply, "expected_version": head.version}
        body = json.dumps(reply).encode("utf-8", "surrogatepass")
        world.model.answers[:] = [lambda _: _said(body)] * (head.spent.steps + 1)
        try:
            world.step()
        except ModelUnavailable:
            raise AssertionError("the model was asked twice") from None
        after = world.head

        assert theirs(world) == before
        assert after.version in (head.version, head.version + 1)
        assert _controllers(after.state, reply) or after.version == head.version
        assert canonical(after.state)
        assert set(world.files.now) <= {"app.py", "x"}


def _said(body: bytes) -> Any:
    from controller.core.records import Reply

    return Reply(body)


def _controllers(state: JsonObject, reply: dict[str, Any]) -> bool:
    """Whether nothing that the reply says of the controller's fields stands in the state."""
    patch = reply["state_patch"]
    named = {"criteria", "source_authority", "recent", "budget", "confirmations"}
    return not (isinstance(patch, dict) and any(
        name in patch and patch[name] == state.get(name) and patch[name] for name in named))
