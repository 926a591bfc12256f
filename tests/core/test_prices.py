"""What calls cost: the backend's word, the table, or nobody's knowledge; and the worst before."""

from dataclasses import replace

import pytest

from controller.core.budget import beyond, lost, near, paid, unanswered
from controller.core.config import Limits, ModelConfig, Price
from controller.core.head import Head, Reserved, RunId, Spent
from controller.core.prices import cost, known_price, price_of, worst
from controller.core.records import Prompt, Usage
from controller.testing.world import rules

OPUS = Price(5, 25, 0.5, 6.25)
PROMPT = Prompt(RunId("r"), 0, 0, "", "P" * 1000, "I" * 500, "O" * 500, {})


@pytest.mark.parametrize(("model", "known"), [
    ("claude-opus-5", True), ("claude-opus-5-20260901", True), ("anthropic/claude-opus-5", True),
    ("claude-opus-5-99", False), ("my-own", False), ("", False),
])
def test_a_model_has_its_own_price_or_none(model: str, known: bool) -> None:
    """A newer model with a similar name is another model."""
    found = price_of(ModelConfig("anthropic_api", model or None), rules())

    assert found == (OPUS if known else None)


def test_what_the_user_has_written_comes_before_the_table() -> None:
    mine = Price(1, 2, 1, 1)

    assert price_of(ModelConfig("anthropic_api", "claude-opus-5"),
                    rules(prices={"claude-opus-5": mine})) == mine


def test_a_server_of_one_s_own_has_no_list_price() -> None:
    config = ModelConfig("openai_api", "gpt-5.1", "http://127.0.0.1:8080/v1")

    assert price_of(config, rules()) is None
    assert not known_price(config, rules())


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(input=1_000_000, cache_read=1_000_000, cache_write=1_000_000, output=1_000_000)

    assert cost(usage, OPUS) == 5 + 0.5 + 6.25 + 25
    assert cost(replace(usage, usd=0.1), OPUS) == 0.1
    assert cost(usage, None) is None
    assert cost(Usage(), OPUS) is None


def test_the_worst_is_never_less_than_what_a_call_came_to() -> None:
    config = ModelConfig("anthropic_api", "claude-opus-5", max_output_tokens=100)

    reserved = worst(PROMPT, config, rules())

    most = Usage(cache_write=len(PROMPT.text), output=100)
    assert reserved.input >= len(PROMPT.text)
    assert reserved.usd >= (cost(most, OPUS) or 0)


def test_an_interface_that_chooses_its_model_is_taken_for_the_dearest_one() -> None:
    told, silent = (worst(PROMPT, ModelConfig("claude_cli", model), rules())
                    for model in ("claude-opus-5", None))

    assert silent.usd > told.usd


@pytest.mark.parametrize(("limits", "says"), [
    (Limits(usd=1), "$0.90 of $1.00 are used, and the next call may cost $0.20"),
    (Limits(input_tokens=1000), "900 of 1,000 input tokens are used, and the next call may take "
     "200"),
    (Limits(output_tokens=100), "90 of 100 output tokens are used, and the next call may take 20"),
    (Limits(steps=100), None), (Limits(usd=1.2), None),
], ids=["money", "tokens in", "tokens out", "steps", "enough"])
def test_a_call_that_may_not_fit_is_not_made(limits: Limits, says: str | None) -> None:
    head = Head(RunId("r"), 0, {}, "", spent=Spent(input=500, cache_read=400, output=90, usd=0.9))

    found = beyond(head, Reserved(200, 20, 0.2), rules(limits=limits))

    assert (found.reason if found else None) == says


def test_somebody_is_told_from_four_fifths_of_a_limit_on() -> None:
    limits = rules(limits=Limits(steps=10, usd=1, seconds=100, input_tokens=1000,
                                 output_tokens=100))
    head = Head(RunId("r"), 0, {}, "", spent=Spent(steps=8, usd=0.79, input=999, output=80))

    assert [name for name, _ in near(head, limits, 85)] == [
        "steps", "seconds", "input tokens", "output tokens"]
    assert list(near(replace(head, spent=Spent(steps=10)), limits, 0)) == []


@pytest.mark.parametrize(("usage", "usd", "spent"), [
    (Usage(), None, (200, 20, 0.2, 0)), (Usage(output=3), None, (200, 3, 0.2, 0)),
    (Usage(input=5, output=3), 0.01, (5, 3, 0.01, 0)),
    (Usage(cache_read=5, output=3), 0.01, (0, 3, 0.01, 0)),
], ids=["nothing", "tokens out", "all", "all from a cache"])
def test_what_a_backend_does_not_say_counts_at_its_worst(
        usage: Usage, usd: float | None, spent: tuple[int, int, float, int]) -> None:
    found = paid(Spent(), usage, usd, Reserved(200, 20, 0.2))

    assert (found.input, found.output, found.usd, found.unpriced) == spent


def test_a_call_whose_price_nobody_knows_is_counted_as_one() -> None:
    assert paid(Spent(), Usage(), None, Reserved(200, 20)).unpriced == 1
    assert lost(Spent(), Reserved(200, 20)) == Spent(input=200, output=20, unpriced=1, lost=1)


def test_a_call_that_nobody_is_charged_for_costs_nothing() -> None:
    reserved = Reserved(200, 20, 0.2)

    assert unanswered(Spent(), Usage(), None, reserved, billed=False) == Spent(misses=1)
    assert unanswered(Spent(), Usage(), None, reserved, billed=True).usd == 0.2


def test_a_script_costs_nothing_and_claude_may_ask_four_times_by_itself() -> None:
    assert worst(PROMPT, ModelConfig("scripted"), rules()) == Reserved()
    one, four = (worst(PROMPT, ModelConfig(name, "claude-opus-5"), rules())
                 for name in ("anthropic_api", "claude_cli"))
    assert (four.input, four.output) == (4 * one.input, 4 * one.output)


def test_a_cache_that_is_kept_for_an_hour_costs_twice_its_input_to_write() -> None:
    hour = price_of(ModelConfig("anthropic_api", "claude-opus-5", cache="1h"), rules())

    assert hour == replace(OPUS, cache_write=10)
