"""What is published as a schema is what is written, and the examples in it are good."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

import contracts
from controller.core.canonical import JsonObject
from controller.core.faults import faults
from controller.core.rules import definitions, inlined
from controller.documents import schema
from controller.store.projections import Projections
from controller.store.rows import head_json
from controller.testing.world import RUN, World
from tests.test_loop import proved, solve


@pytest.mark.parametrize("name", contracts.SCHEMAS)
def test_every_schema_is_one_and_says_what_everything_means(name: str) -> None:
    document = schema(name)
    Draft7Validator.check_schema(document)

    assert document["description"]
    for path, part in _properties(document, name):
        assert {"description", "const", "$ref"} & set(part), f"{path} has no description"


@pytest.mark.parametrize("name", contracts.SCHEMAS)
def test_every_example_in_a_schema_is_good(name: str) -> None:
    document = schema(name)

    examples = [(part, example) for part in walk(document) if "type" in part or "oneOf" in part
                for example in part.get("examples", [])]

    for part, example in examples:
        whole = inlined(part, definitions(document))
        assert isinstance(whole, dict)
        assert faults(example, whole) == [], (name, example)
    assert examples


def test_a_whole_run_is_as_the_schemas_have_it(tmp_path: Path) -> None:
    world = World()
    solve(world)
    proved(world)
    head = world.go()
    Projections(world.queries, tmp_path).catch_up(RUN)

    assert faults(head_json(head), schema("head")) == []
    assert faults(head.state, world.rules.state_schema) == []
    audit = (tmp_path / RUN / "audit.jsonl").read_text()
    records = [json.loads(line) for line in audit.splitlines()]
    assert [fault for record in records for fault in faults(record, schema("step"))] == []
    evidence = [item for record in records for item in record.get("evidence", [])]
    assert [fault for item in evidence for fault in faults(item, schema("evidence"))] == []
    assert len(evidence) == 3
    assert json.loads((tmp_path / RUN / "state.json").read_text()) == head_json(head)


def walk(part: Any) -> Any:
    if isinstance(part, dict):
        yield part
        for below in part.values():
            yield from walk(below)
    elif isinstance(part, list):
        for below in part:
            yield from walk(below)


def _properties(document: JsonObject, name: str) -> Any:
    for part in walk(document):
        properties = part.get("properties")
        for key, below in properties.items() if isinstance(properties, dict) else ():
            if isinstance(below, dict) and key != "kind" and key != "op":
                yield f"{name}: {key}", below
