"""What is done about a call without a reply: pure decisions, looked at one by one."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from controller.core.config import ModelConfig, Retry, Routing
from controller.core.head import Aside, Asking, Head, RunId, Spent
from controller.core.miss import (
    AuthFailed,
    Broken,
    BudgetStop,
    Limit,
    Miss,
    Overloaded,
    TimedOut,
    Timer,
    TooLarge,
    Unknown,
    Unreachable,
    Why,
)
from controller.core.patience import MARGIN, afresh, missed
from controller.core.routing import Chosen, Nobody, Rest, choose
from controller.core.rules import Rules
from controller.testing.clock import MORNING
from controller.testing.world import rules

TWO = ("model", "spare")


def of(names: tuple[str, ...] = ("model",), **changes: object) -> Rules:
    return rules(models={name: ModelConfig("scripted") for name in names},
                 routing=Routing(order=names, **changes))  # type: ignore[arg-type]  # fields of it


def head(asking: Asking | None = None, refusals: int = 0, plan: bool = True,
         last: str = "exit 0") -> Head:
    state = {"plan": {"a": {}} if plan else {}, "recent": [{"result": last}]}
    return Head(RunId("run-1"), 3, state, "",  # type: ignore[arg-type]  # JSON
                spent=Spent(steps=4, refusals_in_a_row=refusals), asking=asking or Asking("model"))


def after(why: Why, under: Rules, was: Head | None = None) -> Head:
    was = was or head()
    return replace(was, asking=missed(was, Miss(why, "words"), under, MORNING))


@pytest.mark.parametrize("why", [AuthFailed(), BudgetStop(), Broken("2.1"), TooLarge()],
                         ids=lambda why: type(why).__name__)
def test_what_no_waiting_mends_is_asked_no_more_and_says_what_to_do(why: Why) -> None:
    found = choose(after(why, of()), of(), MORNING + timedelta(days=1))

    assert isinstance(found, Nobody)
    assert not found.temporary
    assert "words; " in found.why


def test_a_usage_limit_is_waited_for_until_it_is_over_and_a_minute_more() -> None:
    over = MORNING + timedelta(hours=3)

    assert choose(after(Limit(over), of()), of(), MORNING) == Rest(
        over + MARGIN, "usage limit until 2026-01-05 11:00 UTC: words")


def test_a_usage_limit_without_an_end_is_asked_about_every_half_hour() -> None:
    found = choose(after(Limit(), of()), of(), MORNING)

    assert isinstance(found, Rest)
    assert found.until == MORNING + timedelta(minutes=31)


def test_no_wait_is_longer_than_the_longest() -> None:
    under = replace(of(), retry=Retry(longest_wait=3600))

    found = choose(after(Limit(MORNING + timedelta(days=6)), under), under, MORNING)

    assert isinstance(found, Rest)
    assert found.until == MORNING + timedelta(hours=1)


def test_another_model_is_asked_at_a_limit_and_the_first_again_when_it_is_over() -> None:
    under = of(TWO)
    limited = after(Limit(MORNING + timedelta(hours=1)), under)

    assert choose(limited, under, MORNING) == Chosen(
        "spare", "model: usage limit until 2026-01-05 09:00 UTC: words")
    later = MORNING + timedelta(hours=1) + MARGIN
    found = choose(replace(limited, asking=replace(limited.asking, model="spare")), under, later)
    assert isinstance(found, Chosen)
    assert found.model == "model"


def test_who_is_told_to_wait_at_a_limit_waits_although_there_is_another() -> None:
    under = of(TWO, on_limit="wait")

    assert isinstance(choose(after(Limit(MORNING + timedelta(hours=1)), under), under, MORNING),
                      Rest)


@pytest.mark.parametrize("why", [Overloaded(), Unreachable(), TimedOut(Timer.IDLE)],
                         ids=lambda why: type(why).__name__)
def test_what_passes_is_tried_again_each_time_after_longer_but_never_exactly_so(why: Why) -> None:
    """Runs that failed together must not come back together."""
    waits, was = [], head()
    for number in range(10):
        was = replace(after(why, of(), was), spent=Spent(misses=number))
        assert was.asking.until is not None
        waits.append((was.asking.until - MORNING).total_seconds())

    for number, wait in enumerate(waits):
        longest = min(300, 2 * 2**number)
        assert longest / 2 <= wait <= longest
    other = missed(replace(head(), run=RunId("run-2")), Miss(why, ""), of(), MORNING)
    assert other.until != missed(head(), Miss(why, ""), of(), MORNING).until


def test_nobody_comes_back_before_the_provider_wants_it() -> None:
    found = after(Overloaded(90), of()).asking.until

    assert found == MORNING + timedelta(seconds=90)


def test_after_a_few_failures_another_model_is_asked_and_the_first_later_again() -> None:
    under, was = of(TWO), head()
    for _ in range(4):
        was = after(Unreachable(), under, was)

    assert choose(was, under, MORNING) == Chosen("spare", "model: unreachable: words")
    found = choose(was, under, MORNING + timedelta(minutes=15))
    assert isinstance(found, Chosen)
    assert found.model == "model"


def test_when_nobody_has_answered_for_as_long_as_an_outage_may_last_it_ends_for_now() -> None:
    under = replace(of(), retry=Retry(outage=3600))
    was = after(Unreachable(), under)

    assert isinstance(choose(was, under, MORNING + timedelta(minutes=59)), Chosen)
    found = choose(was, under, MORNING + timedelta(hours=1))
    assert isinstance(found, Nobody)
    assert (found.temporary, found.why) == (
        True, "for 1.0 h no model has answered (unreachable: words)")


def test_what_nobody_understands_is_tried_three_times() -> None:
    was = head()
    for _ in range(3):
        assert isinstance(choose(was, of(), MORNING + timedelta(hours=1)), Chosen)
        was = after(Unknown(), of(), was)

    assert isinstance(choose(was, of(), MORNING + timedelta(days=1)), Nobody)


def test_who_resumes_gives_everybody_another_chance_but_a_wait_is_still_one() -> None:
    until = MORNING + timedelta(hours=2)
    aside: Mapping[str, Aside] = {"model": Aside(None, "401"), "spare": Aside(until, "limit")}

    assert afresh(Asking("model", 3, MORNING, until, "busy", aside)) == Asking(
        "model", until=until, why="busy", aside={"spare": aside["spare"]})


@pytest.mark.parametrize(("was", "asked"), [
    (head(plan=False), "thinker"), (head(), "worker"), (head(last="exit 1"), "mender"),
    (head(refusals=1), "mender"),
], ids=["plan", "implement", "repair", "refused"])
def test_each_phase_has_its_own_model(was: Head, asked: str) -> None:
    names = ("worker", "thinker", "mender")
    under = of(names, phases={"plan": ("thinker",), "repair": ("mender",)})

    found = choose(was, under, MORNING)

    assert isinstance(found, Chosen)
    assert found.model == asked


def test_a_stronger_model_is_asked_after_refusals_and_the_cheap_one_again_afterwards() -> None:
    under = of(TWO, escalate_after=2)

    asked = [choose(head(refusals=number), under, MORNING) for number in range(5)]

    assert [found.model for found in asked if isinstance(found, Chosen)] == [
        "model", "model", "spare", "spare", "spare"]


def test_from_the_model_of_a_phase_on_it_goes_upwards_and_never_down() -> None:
    under = of(("cheap", "middle", "strong"), phases={"repair": ("middle",)}, escalate_after=3)

    asked = [choose(head(refusals=number), under, MORNING) for number in (1, 3, 6, 30)]

    assert [found.model for found in asked if isinstance(found, Chosen)] == [
        "middle", "strong", "strong", "strong"]


def test_a_limit_whose_end_is_past_by_our_clock_is_asked_about_in_a_minute() -> None:
    found = choose(after(Limit(MORNING - timedelta(minutes=5)), of()), of(), MORNING)

    assert isinstance(found, Rest)
    assert found.until == MORNING + MARGIN


def test_a_wait_that_the_provider_names_is_no_outage_and_keeps_nobody_else_from_answering() -> None:
    alone, two = of(), of(TWO)
    was = after(Overloaded(5 * 3600), alone)

    assert choose(was, alone, MORNING) == Rest(
        MORNING + timedelta(hours=5), "overloaded, wants 18000 s: words")
    assert isinstance(choose(was, alone, MORNING + timedelta(hours=5)), Chosen)
    found = choose(after(Overloaded(3600), two), two, MORNING)
    assert isinstance(found, Chosen)
    assert found.model == "spare"


def test_limits_that_nobody_says_the_end_of_are_not_asked_about_for_ever() -> None:
    was, now = head(), MORNING
    while now < MORNING + timedelta(days=2):
        choice = choose(was, of(), now)
        if isinstance(choice, Nobody):
            break
        if isinstance(choice, Rest):
            now = choice.until
            continue
        was = replace(was, asking=missed(was, Miss(Limit(), "later"), of(), now))

    assert isinstance(choice, Nobody)
    assert choice.temporary
    assert now <= MORNING + timedelta(hours=5)


def test_only_those_are_waited_for_who_would_be_asked() -> None:
    """A limit of a model for another phase is no reason to sit there."""
    under = of(("worker", "thinker"), phases={"plan": ("thinker",)})
    under = replace(under, routing=replace(under.routing, order=("worker",)))
    aside = {"worker": Aside(None, "401"), "thinker": Aside(MORNING + timedelta(hours=9), "limit")}

    found = choose(head(Asking("worker", aside=aside)), under, MORNING)

    assert found == Nobody("worker: 401", temporary=False)
