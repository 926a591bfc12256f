"""One transition schema, two dialects, no loss."""

from typing import Any

import pytest
from hypothesis import given

from adapters.dialect import answered, grammar_schema, merge_schema, ops_schema
from controller.core.canonical import JsonObject, canonical
from controller.core.miss import Malformed, Miss
from controller.core.records import Reply, Usage
from controller.core.strict_json import read_reply
from controller.testing.script import to_ops
from controller.testing.world import rules
from tests.core.test_merge import objects
from tests.test_schemas import walk

SCHEMA = rules().transition_schema


def test_the_strict_schema_keeps_to_what_strict_mode_allows() -> None:
    for part in walk(ops_schema(SCHEMA)):
        if "properties" in part and part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert sorted(part["required"]) == sorted(part["properties"])
        assert not {"oneOf", "$ref", "maxLength", "const", "propertyNames"} & set(part)


def test_the_merge_schema_is_whole_and_small_enough_for_a_command_line() -> None:
    schema = merge_schema(SCHEMA)

    assert not [part for part in walk(schema) if "$ref" in part or "$schema" in part]
    assert len(canonical(schema)) < 64 * 1024


@pytest.mark.parametrize("compiled", [merge_schema, ops_schema, grammar_schema])
def test_no_word_of_ours_is_in_a_schema_that_is_sent(compiled: Any) -> None:
    """Claude drops a schema that has one, and says nothing; OpenAI turns it down."""
    assert [key for part in walk(compiled(SCHEMA)) for key in part if key.startswith("x-")] == []


def test_a_schema_for_grammars_has_nothing_that_lets_them_go_wild() -> None:
    for part in walk(grammar_schema(SCHEMA)):
        assert not ("anyOf" in part and "properties" in part)
        assert not isinstance(part.get("type"), list)
        assert "propertyNames" not in part or "type" not in part


def of_ops(body: bytes) -> Reply | Miss:
    return answered(body.decode(), Usage(), ops=True)


@given(objects)
def test_a_patch_survives_the_ops_dialect(patch: dict[str, Any]) -> None:
    document: JsonObject = {"expected_version": 1, "state_patch": patch, "action": {"kind": "read"}}

    reply = of_ops(canonical(to_ops(document)))

    assert isinstance(reply, Reply)
    assert read_reply(reply.body) == document


def test_absent_keys_of_an_action_are_absent_again() -> None:
    body = canonical({"expected_version": 1, "state_patch": [], "action": {
        "kind": "run", "argv": None, "shell": "true", "timeout": None}})

    reply = of_ops(body)

    assert isinstance(reply, Reply)
    assert read_reply(reply.body)["action"] == {"kind": "run", "shell": "true"}


@pytest.mark.parametrize(("operation", "fault"), [
    ({"op": "set", "path": "/a", "value_json": "{"}, "/state_patch/0/value_json: not JSON at line"),
    ({"op": "set", "path": "a", "value_json": "1"}, "/state_patch/0/path: expected a path that"),
    ({"op": "set", "path": "", "value_json": "1"}, "/state_patch/0/path: expected a path below"),
    ({"op": "put", "path": "/a", "value_json": "1"}, "/state_patch/0: expected op, path and"),
    ({"op": "set", "path": "/a", "value_json": "NaN"}, "/state_patch/0/value_json: NaN is not"),
    ("set", "/state_patch/0: expected op, path and value_json"),
    ({"op": "set", "path": "/a" * 5000, "value_json": "1"}, "/state_patch/0/path: expected at"),
])
def test_a_bad_operation_is_a_fault_with_its_place(operation: Any, fault: str) -> None:
    body = canonical({"expected_version": 1, "state_patch": [operation], "action": {}})

    assert why(of_ops(body)).startswith(fault)


def test_an_operation_through_a_value_is_a_fault() -> None:
    body = canonical({"expected_version": 1, "action": {}, "state_patch": [
        {"op": "set", "path": "/a", "value_json": "1"},
        {"op": "set", "path": "/a/b", "value_json": "1"}]})

    assert why(of_ops(body)) == "/state_patch/1/path: /a/b leads through a value set before"


@pytest.mark.parametrize("body", [b"", b"prose", b"[]", b'{"a": 1, "a": 2}'])
def test_what_is_no_object_is_malformed_and_kept(body: bytes) -> None:
    said = of_ops(body)

    assert isinstance(said, Miss)
    assert (said.kind, said.body, said.billed) == ("Malformed", body, True)


def test_a_patch_that_is_no_list_is_left_for_the_gates_to_judge() -> None:
    body = canonical({"state_patch": {}})

    assert of_ops(body) == Reply(body, Usage())


def why(said: Reply | Miss) -> str:
    assert isinstance(said, Miss)
    assert isinstance(said.why, Malformed)
    return said.why.why
