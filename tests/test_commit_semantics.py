"""What a failed action leaves in the state: nothing (staged), its patch (optimistic), or what was
wished for (dual).

The probe is a small warehouse after the paper's: labels change silently, orders for them fail, then
an alert says how they read now. A state that kept what failed actions promised has lost shelves.
"""

import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import contracts
from controller.core.action import Run
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.config import Limits
from controller.core.head import Stop
from controller.core.records import Candidate, Effect, Outcome, Prompt, Remains, Reply, Status
from controller.core.rules import Rules, transition_schema
from controller.documents import schema
from controller.loop import step
from controller.testing.world import World, command, rules

ITEMS, DRIFTED, SEEDS = 10, 3, range(5)


def domain(**commits: str) -> Rules:
    """The coding domain with other commit semantics and a field for an inventory."""
    state: Any = dict(contracts.domain("coding"))
    state["x-commit"] = {"pure": "staged", "workspace": "staged", "external": "dual", **commits}
    state["properties"] = {**state["properties"], "inventory": {
        "x-owner": "model", "type": "object", "additionalProperties": {"type": "string"}}}
    made = rules(state_schema=state,
                 transition_schema=transition_schema(schema("transition"), state))
    return replace(made, limits=Limits(steps=None))


@dataclass(slots=True)
class Warehouse:
    """Shelves as they are. A shipment of what a shelf does not hold can't be performed."""

    world: World
    shelves: dict[str, str]
    wrong: list[int] = field(default_factory=list)

    def perform(self, effect: Effect) -> Outcome:
        action = effect.candidate.transition.action
        assert isinstance(action, Run)
        word, *rest = str(action.command).split()
        if word == "ship" and self.shelves.get(rest[1]) != rest[0]:
            return self._failed(effect, f"{rest[1]} does not hold {rest[0]}")
        if word == "ship":
            del self.shelves[rest[1]]
        if word == "lost":
            return self._failed(effect, "nobody knows where it is")
        return Outcome(Status.DONE, "done", effect.source, summary=str(action.command))

    def _failed(self, effect: Effect, why: str) -> Outcome:
        self.wrong.append(effect.candidate.base.spent.steps)
        return Outcome(Status.FAILED, why, effect.source)

    def foresee(self, candidate: Candidate) -> str:
        return ""

    set_aside = foresee

    def undo(self, effect: Effect, outcome: Outcome) -> Outcome:
        return outcome

    def resume(self, effect: Effect, remains: Remains) -> Outcome:
        return self.perform(effect)


def worked(semantics: str, seed: int) -> int:
    """How many orders go wrong after the alert."""
    world = World(rules=domain(workspace=semantics))
    shuffled = random.Random(seed)
    shelves = {f"shelf_{n}": f"item_{n}" for n in range(ITEMS)}
    house = Warehouse(world, dict(shelves))
    world.executor = house  # type: ignore[assignment]  # another executor
    world.model.answers = [lambda prompt: said(prompt, "true", {"inventory": dict(shelves)})]
    world.go(1)
    drifted = shuffled.sample(sorted(shelves), DRIFTED)
    for shelf in drifted:
        house.shelves[shelf] = f"new_{shelves[shelf]}"  # nobody says so
    for shelf in drifted:
        order(world, shelves[shelf])
    alerted = world.head.spent.steps
    for shelf in drifted:
        alert(world, shelves[shelf])
    for shelf in sorted(shelves, key=lambda _: shuffled.random()):
        order(world, house.shelves[shelf])
    return len([step for step in house.wrong if step > alerted + 1])


def said(prompt: Prompt, line: str, patch: JsonObject) -> Reply:
    return Reply(canonical({"expected_version": prompt.version, "state_patch": patch,
                            "action": command(line)}))


def order(world: World, item: str) -> None:
    """The model's policy: it knows what its state says, and nothing else."""
    inventory = entries(world.head.state["inventory"])
    shelf = next((shelf for shelf, held in inventory.items() if held == item), None)
    line = f"ship {item} {shelf}" if shelf else f"lost {item}"
    patch: JsonObject = {"inventory": {shelf: None}} if shelf else {}
    _step(world, line, patch)


def alert(world: World, item: str) -> None:
    """A label reads otherwise: whoever still knows the shelf corrects it."""
    inventory = entries(world.head.state["inventory"])
    patch: JsonObject = {"inventory": {
        shelf: f"new_{item}" for shelf, held in inventory.items() if held == item}}
    _step(world, f"note new_{item}", patch)


def _step(world: World, line: str, patch: JsonObject) -> None:
    world.model.answers.append(lambda prompt: said(prompt, line, patch))
    world.go(1)


def test_after_a_silent_drift_staged_commits_make_no_wrong_action_and_optimistic_ones_do() -> None:
    assert sum(worked("staged", seed) for seed in SEEDS) == 0
    assert sum(worked("optimistic", seed) for seed in SEEDS) == DRIFTED * len(SEEDS)


FACT: JsonObject = {"facts": {"a": {"text": "it is there"}}}


@pytest.mark.parametrize(("semantics", "facts"), [
    ("staged", {}), ("optimistic", FACT["facts"]), ("dual", {}),
])
def test_a_failed_action_leaves_what_its_domain_has_chosen(semantics: str, facts: Any) -> None:
    world = World(rules=domain(workspace=semantics))
    world.model.replies(command("fail"), FACT)
    shown = world.open().observation

    head = world.step()

    assert head.state["facts"] == facts
    assert head.before == shown  # nothing learned is lost
    desired = entries(head.state["desired"])
    assert (desired.get("action"), desired.get("outcome")) == (
        ("run fail", "failed") if semantics == "dual" else (None, None))
    assert ("your patch was applied" in head.observation) is (semantics == "optimistic")


def test_what_nobody_can_tell_of_is_shown_as_desired_until_it_is_confirmed() -> None:
    world = World(rules=domain())
    world.authority.blind = True
    world.model.replies(command("deploy it"), FACT)
    world.model.replies(command("true"))
    world.open()
    with world.lease() as lease:
        broken = replace(world.controller(), executor=_Doubting(world))  # type: ignore[arg-type]  # the part that is used
        waits = step(broken, lease)

    assert waits.stopped is not None
    assert waits.stopped.why is Stop.WAITING
    assert entries(waits.state["desired"])["outcome"] == "unknown"
    assert waits.state["facts"] == {}
    world.desk.decide("run-1", "u1", happened=True, now=world.clock.now())  # type: ignore[arg-type]  # its id
    head = world.go(1)
    assert head.state["facts"] == FACT["facts"]
    assert head.state["desired"] == {}


@dataclass(slots=True)
class _Doubting:
    world: World

    def perform(self, effect: Effect) -> Outcome:
        return Outcome(Status.UNKNOWN, "the line went dead", effect.source)

    def foresee(self, candidate: Candidate) -> str:
        return ""


def test_what_a_refused_step_had_been_shown_is_shown_again_until_a_step_commits() -> None:
    world = World()
    world.model.replies(command("write app.py x"), {"fact": {}})
    world.model.replies(command("fail"))
    world.model.replies(command("true"))
    shown = world.open().observation

    first, second, third = world.step(), world.step(), world.step()

    assert first.before == second.before == shown
    assert third.before == ""
    assert shown in world.model.prompts[1].volatile
    assert shown in world.model.prompts[2].volatile


def test_the_patch_of_an_action_that_was_undone_never_stands() -> None:
    world = World(rules=domain(workspace="optimistic"))
    world.authority.forbidden = "docs.md"
    world.model.replies(command("write docs.md x"), FACT)

    head = world.step()

    assert head.state["facts"] == {}
    assert "your patch was not applied" in head.observation
