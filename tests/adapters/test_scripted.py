"""Cassettes: the n-th step gets the n-th reply, whatever happened between."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.scripted import Recording, Scripted
from controller.core.errors import SetupError
from controller.core.miss import Miss
from controller.core.prompt import render
from controller.core.records import Prompt, Reply, Usage
from controller.testing.world import World, command


def at(step: int) -> Prompt:
    world = World()
    return replace(render(world.rules, world.open()), step=step)


def test_the_step_decides_which_reply_is_played(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"reply": {"a": 1}}\n\n{"raw": "not JSON", "usage": '
                                      '{"input": 5}}\n')
    model = Scripted(tmp_path / "c.jsonl")

    again, first, second = model.propose(at(0)), model.propose(at(0)), model.propose(at(1))

    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.body, second.body, again) == (b'{"a":1}', b"not JSON", first)
    assert second.usage == Usage(input=5)


def test_a_cassette_that_is_over_says_so(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"reply": {}}\n')

    said = Scripted(tmp_path / "c.jsonl").propose(at(2))

    assert isinstance(said, Miss)
    assert said.words.endswith("c.jsonl has 1 replies; step 3 needs another")


@pytest.mark.parametrize("line", [
    "{", "[]", '{"answer": 1}', '{"reply": {}, "usage": {"cost": 1}}'])
def test_a_bad_line_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"reply": {}}\n' + line + "\n")

    with pytest.raises(SetupError, match=r"c\.jsonl:2:1: expected"):
        Scripted(tmp_path / "c.jsonl").propose(at(1))


def test_a_recording_plays_what_was_said_and_a_step_made_again_replaces_its_line(
        tmp_path: Path) -> None:
    world = World()
    world.model.replies(command("one"))
    world.model.replies(command("two"))
    recording = Recording(world.model, tmp_path / "c.jsonl")

    recording.propose(at(0))
    recording.propose(at(1))
    said = recording.propose(at(1))

    assert Scripted(tmp_path / "c.jsonl").propose(at(1)) == said
    lines = (tmp_path / "c.jsonl").read_text().splitlines()
    assert [json.loads(json.loads(line)["raw"])["action"]["shell"] for line in lines] == [
        "one", "two"]
