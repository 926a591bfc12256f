"""Servers that speak OpenAI's API more or less: what each can be held to is found out, and kept."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from adapters import registry
from adapters.openai_api import OpenAiApi
from adapters.registry import Adapter, Setup, find, names
from controller.cli.place import SystemClock
from controller.core.config import ModelConfig
from controller.core.errors import ModelUnusable, SetupError
from controller.core.miss import Miss
from controller.core.prompt import render
from controller.core.records import Prompt, Reply
from controller.settings import Settings
from controller.testing.misbehaviour import TRANSITION
from controller.testing.model_server import ModelServer
from controller.testing.wire import Answer, Json, Manner, ModelRequest, Usage
from controller.testing.world import World

GOOD = json.dumps(TRANSITION)
OPS = json.dumps({**TRANSITION, "state_patch": []})

NO_SCHEMA = Answer("1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': "
                   "\"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}",
                   status=500)
"""What llama-cpp-python's server says to a JSON schema: a validation error with an outage's status.
"""


def prompt() -> Prompt:
    world = World()
    return render(world.rules, world.open())


def dialect(request: Json) -> str:
    """The dialect that a request of either API is in."""
    form = request.get("response_format") or (request.get("text") or {}).get("format") or {}
    if form.get("type") == "json_schema":
        return "strict"
    if form.get("type") == "json_object":
        return "object"
    return "tool" if request.get("tool_choice") else "plain"


@contextmanager
def server(knows: tuple[str, ...], refusal: Answer = NO_SCHEMA) -> Iterator[ModelServer]:
    """A server that knows some dialects and turns the others down."""
    def answer(request: ModelRequest) -> Answer:
        asked = dialect(request.json)
        if asked not in knows:
            return refusal
        return Answer(OPS if asked == "strict" else GOOD)

    with ModelServer(answer) as made:
        yield made


def model(url: str, folder: Path, **changes: object) -> OpenAiApi:
    made = OpenAiApi("local", "none", url + "/v1", "chat", memory=folder / "endpoints.json")
    return replace(made, **changes)  # type: ignore[arg-type]  # fields of it


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("knows", "asked"), [
    (("strict",), ["strict"]), (("object", "plain"), ["strict", "object"]),
    (("tool",), ["strict", "object", "tool"]),
    (("plain",), ["strict", "object", "tool", "plain"]),
])
def test_the_firmest_dialect_that_a_server_knows_is_found_and_remembered(
        tmp_path: Path, api: str, knows: tuple[str, ...], asked: list[str]) -> None:
    with server(knows) as made:
        first = model(made.url, tmp_path, api=api).propose(prompt())
        found = [dialect(request.json) for request in made.requests]
        again = model(made.url, tmp_path, api=api).propose(prompt())  # another process would

    assert isinstance(first, Reply)
    assert json.loads(first.body)["action"]["kind"] == "finish"
    assert first == again
    assert found == asked
    assert [dialect(request.json) for request in made.requests[len(asked):]] == asked[-1:]


@pytest.mark.parametrize("refusal", [
    Answer("response_format is not supported", status=400),
    Answer("Unknown parameter: 'tool_choice'", status=422), NO_SCHEMA], ids=["400", "422", "500"])
def test_a_status_that_names_the_form_of_the_answer_means_that_it_is_not_known(
        tmp_path: Path, refusal: Answer) -> None:
    with server(("plain",), refusal) as made:
        assert isinstance(model(made.url, tmp_path).propose(prompt()), Reply)


def test_an_outage_is_not_taken_for_a_dialect_that_is_not_known(tmp_path: Path) -> None:
    with server((), Answer("the GPU is on fire", status=500)) as made:
        said = model(made.url, tmp_path).propose(prompt())

    assert isinstance(said, Miss)
    assert (said.kind, len(made.requests)) == ("Overloaded", 1)
    assert not (tmp_path / "endpoints.json").exists()


def test_a_server_that_knows_chat_only_is_told_of(tmp_path: Path) -> None:
    with ModelServer(lambda _: Answer("Not Found", status=404)) as made:
        said = model(made.url, tmp_path, api="responses").propose(prompt())

    assert isinstance(said, Miss)
    assert said.words.endswith("may know `api: chat` only")


def test_a_dialect_that_the_user_has_chosen_is_kept(tmp_path: Path) -> None:
    with server(("plain",)) as made:
        said = model(made.url, tmp_path, dialect="strict").propose(prompt())

    assert isinstance(said, Miss)
    assert len(made.requests) == 1


def test_one_endpoint_s_abilities_say_nothing_of_another_s(tmp_path: Path) -> None:
    with server(("plain",)) as poor, server(("strict",)) as rich:
        model(poor.url, tmp_path).propose(prompt())
        model(rich.url, tmp_path).propose(prompt())

    assert [dialect(request.json) for request in rich.requests] == ["strict"]


def test_a_model_that_only_thinks_is_asked_not_to_from_then_on(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> Answer:
        if (request.json.get("chat_template_kwargs") or {}).get("enable_thinking") is False:
            return Answer(GOOD)
        return Answer("Hm, let me think about it.", manner=Manner.THOUGHTS)

    with ModelServer(answer) as made:
        first = model(made.url, tmp_path, dialect="plain").propose(prompt())
        second = model(made.url, tmp_path, dialect="plain").propose(prompt())

    assert isinstance(first, Miss)
    assert first.kind == "Malformed"
    assert isinstance(second, Reply)


@pytest.mark.parametrize("answer", [
    Answer(GOOD, manner=Manner.THOUGHTS), Answer(f"<think>It is easy.</think>\n{GOOD}")],
    ids=["in the thoughts", "after them"])
def test_an_answer_that_a_server_takes_for_thoughts_is_found(tmp_path: Path,
                                                             answer: Answer) -> None:
    with ModelServer(lambda _: answer) as made:
        said = model(made.url, tmp_path, dialect="plain").propose(prompt())

    assert isinstance(said, Reply)


def test_a_server_that_drops_the_front_of_a_prompt_is_found_out_by_what_it_counts(
        tmp_path: Path) -> None:
    with ModelServer(lambda _: Answer(GOOD, usage=Usage(input=512))) as made:
        said = model(made.url, tmp_path, dialect="plain").propose(prompt())

    assert isinstance(said, Miss)
    assert said.kind == "TooLarge"
    assert "it drops the front" in said.words


def setup(folder: Path, **config: object) -> Setup:
    settings = Settings(folder, folder, folder, "/usr/bin:/bin", {}, {"GROQ": "secret"})
    return Setup(settings, ModelConfig(**config), folder, folder,  # type: ignore[arg-type]  # fields
                 SystemClock())


def test_a_server_on_this_machine_needs_no_key_and_others_name_their_variable(
        tmp_path: Path) -> None:
    local = setup(tmp_path, base_url="http://127.0.0.1:8080/v1")
    named = setup(tmp_path, base_url="https://api.example.org/v1", key="$GROQ")

    assert (local.key("OPENAI_API_KEY"), named.key("OPENAI_API_KEY")) == ("none", "secret")
    with pytest.raises(ModelUnusable, match="needs a key in the variable OPENAI_API_KEY"):
        setup(tmp_path, base_url="https://127.0.0.1.example.org/v1").key("OPENAI_API_KEY")
    with pytest.raises(SetupError, match="names the variable NOPE, which is not set"):
        setup(tmp_path, key="$NOPE").key("OPENAI_API_KEY")


def test_an_adapter_of_somebody_else_s_is_found_by_its_entry_point(
        monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("mine", "adapters.registry:ADAPTERS", registry.GROUP)

    def points(group: str, name: str = "mine") -> list[EntryPoint]:
        return [point] if (group, name) == (registry.GROUP, "mine") else []

    monkeypatch.setattr(registry, "entry_points", points)

    assert names()[-1] == "mine"
    with pytest.raises(SetupError, match=r"adapter mine: .* is no adapters\.registry\.Adapter"):
        find("mine")
    monkeypatch.setattr(registry, "MINE", Adapter(_build), raising=False)
    point = EntryPoint("mine", "adapters.registry:MINE", registry.GROUP)
    assert find("mine").build is _build
    with pytest.raises(SetupError, match="no adapter 'yours'; there are: claude_cli, codex_cli"):
        find("yours")


_build: Callable[[Setup], OpenAiApi] = lambda setup: OpenAiApi(setup.model(), "none")  # noqa: E731  (compared)
