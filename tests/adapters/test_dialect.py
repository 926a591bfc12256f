"""One transition schema, two dialects, no loss."""

from typing import Any

import pytest
from hypothesis import given

from adapters.dialect import from_ops, merge_schema, ops_schema
from controller.core.canonical import JsonObject, canonical
from controller.core.records import Usage
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


@given(objects)
def test_a_patch_survives_the_ops_dialect(patch: dict[str, Any]) -> None:
    document: JsonObject = {"expected_version": 1, "state_patch": patch, "action": {"kind": "read"}}

    reply = from_ops(canonical(to_ops(document)), Usage())

    assert reply.fault is None
    assert read_reply(reply.body) == document


def test_absent_keys_of_an_action_are_absent_again() -> None:
    body = canonical({"expected_version": 1, "state_patch": [], "action": {
        "kind": "run", "argv": None, "shell": "true", "timeout": None}})

    assert read_reply(from_ops(body, Usage()).body)["action"] == {"kind": "run", "shell": "true"}


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

    found = from_ops(body, Usage()).fault

    assert found is not None
    assert found.startswith(fault)


def test_an_operation_through_a_value_is_a_fault() -> None:
    body = canonical({"expected_version": 1, "action": {}, "state_patch": [
        {"op": "set", "path": "/a", "value_json": "1"},
        {"op": "set", "path": "/a/b", "value_json": "1"}]})

    assert from_ops(body, Usage()).fault == (
        "/state_patch/1/path: /a/b leads through a value set before")


@pytest.mark.parametrize("body", [
    b"", b"prose", b"[]", b'{"state_patch": {}}', b'{"a": 1, "a": 2}'])
def test_what_is_no_ops_reply_is_passed_on_for_the_gates_to_judge(body: bytes) -> None:
    assert from_ops(body, Usage()).body == body
