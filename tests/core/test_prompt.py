"""The prompt is a pure function with a stable beginning and a bound."""

from dataclasses import replace

from controller.core.action import Command
from controller.core.contract import CommandCheck, Constraint, Contract, Criterion, Item
from controller.core.prompt import HEADER, bound, render
from controller.testing.world import World, command, rules


def test_the_same_inputs_give_the_same_bytes() -> None:
    one, two = World(), World()

    assert render(one.rules, one.open()).text == render(two.rules, two.open()).text


def test_the_order_of_keys_in_the_state_does_not_matter() -> None:
    world = World()
    head = world.open()
    turned = replace(head, state=dict(reversed(list(head.state.items()))))

    assert render(world.rules, turned) == render(world.rules, head)


def test_the_stable_part_comes_first_and_does_not_change() -> None:
    world = World()
    world.model.replies(command("true"), {"facts": {"a": {"text": "b"}}})
    first = render(world.rules, world.open())
    world.step()
    second = render(world.rules, world.head)

    assert second.stable == first.stable
    assert second.volatile != first.volatile
    assert second.text.startswith(HEADER + "\n\n# Skill spec")


def test_no_prompt_begins_like_a_slash_command() -> None:
    world = World(rules=rules(skill="/help"))

    assert render(world.rules, world.open()).text.startswith(HEADER)


def test_everything_the_contract_says_is_in_every_prompt() -> None:
    made = Contract(
        "GOAL", (Criterion("cid", "CTEXT", CommandCheck(Command(("check", "it")), 3)),),
        locked_requirements=(Item("requirement-1", "LOCKED"),),
        constraints=(Constraint("constraint-1", "CONSTRAINT", allow_paths=("src/**",)),
                     Constraint("constraint-2", forbid_paths=("docs/**",), max_files=7)),
        non_goals=(Item("non-goal-1", "NONGOAL"),),
        approval_boundaries=(Item("boundary-1", "BOUNDARY"),),
        must_remember=(Item("remember-1", "REMEMBER"),),
        priority_order=(Item("priority-1", "FIRST"),))
    text = render(rules(contract=made), World().open()).stable

    for said in ("GOAL", "cid: CTEXT [`check it` exits 3]", "requirement-1: LOCKED",
                 "constraint-1: CONSTRAINT; only files matching src/**", "constraint-2: ",
                 "docs/**", "at most 7 files", "NONGOAL", "BOUNDARY", "REMEMBER", "FIRST"):
        assert said in text, said


def test_a_prompt_with_the_largest_state_and_observation_is_within_its_bound() -> None:
    world = World()
    head = world.open()
    room = world.rules.max_state_bytes
    full = replace(head, version=10**9, state={"facts": "x" * (room - 12)},
                   observation="é" * 100_000)

    assert len(render(world.rules, full).text.encode()) <= bound(world.rules)
