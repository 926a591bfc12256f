"""A night, simulated: the real API clients against a scripted provider, and a clock that runs when
somebody waits or a model thinks. Everything goes wrong that goes wrong at night.
"""

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.anthropic_api import AnthropicApi
from adapters.openai_api import OpenAiApi
from controller.core.canonical import JsonObject, entries
from controller.core.config import Approvals, Limits, ModelConfig, Routing
from controller.core.head import Head, RunId, Stop
from controller.core.policy import Policy
from controller.core.records import Finding
from controller.store.sqlite import open_tables
from controller.testing.clock import MORNING, FixedClock
from controller.testing.crash import Countdown, Died, dying_at
from controller.testing.model_server import ModelServer
from controller.testing.script import shown, to_ops
from controller.testing.wire import Answer, Delivery, ModelRequest, Usage
from controller.testing.world import RUN, World, Wrap, command, rules

EVENING = MORNING.replace(hour=22)
THINKS = timedelta(minutes=5)
MONEY = 2.0

STEPS = 55
RISKY = 30  # the step that needs a person
DIES_IN = (12, 40)  # steps in which the controller is killed

TRANSIENT = (Answer("Overloaded", status=529, code="overloaded_error"),
             Answer("Internal server error", status=500),
             Answer("{}", delivery=Delivery.RESET), Answer("no", status=503),
             Answer("slow down", status=429))


def at(hours: float) -> datetime:
    """So many hours after the evening began."""
    return EVENING + timedelta(hours=hours)


def limit(until: datetime) -> Answer:
    return Answer("You have reached your limit", status=429, headers={
        "anthropic-ratelimit-unified-reset": str(int(until.timestamp()))})


def action(step: int) -> JsonObject:
    """What the model asks for in a step."""
    if step == STEPS:
        return {"kind": "finish", "result": "done", "summary": "It is fixed."}
    if step == STEPS - 1:
        return {"kind": "commit", "message": "Fix it"}
    if step == RISKY:
        return command("write app.py risky")
    return command(f"write notes{step}.md {step}")


@dataclass(slots=True)
class Provider:
    """Answers both APIs, or does not, as the night has it."""

    clock: FixedClock
    windows: tuple[tuple[datetime, datetime], ...]
    gone: datetime  # from then on the first key is no good
    failures: int  # that are left, one before each answer
    failed: bool = False
    told: set[str] = field(default_factory=set)

    def __call__(self, request: ModelRequest) -> Answer:
        now = self.clock.now()
        first = request.path.endswith("/messages")
        if first and now >= self.gone:
            return Answer("API key has been revoked", status=401)
        for begins, ends in self.windows:
            if begins <= now < ends:
                return limit(ends)
        if self.failures and not self.failed:
            self.failures, self.failed = self.failures - 1, True
            return TRANSIENT[self.failures % len(TRANSIENT)]
        self.failed = False
        self.clock.sleep(THINKS.total_seconds())
        version, step = shown(request.text)
        answer: JsonObject = {"expected_version": version, "action": action(step), "state_patch": {
            "facts": {"last": {"text": f"step {step} is next", "source": "app.py:1"}}}}
        return Answer(json.dumps(answer if first else to_ops(answer)),
                      usage=Usage(input=4000, cached=3000, output=200))


@dataclass(slots=True)
class Sleeper:
    """A person who looks at his telephone at three."""

    world: World
    wakes: datetime

    def collect(self, run: RunId) -> None:
        if self.world.clock.now() < self.wakes:
            return
        for asked in self.world.queries.questions(run):
            self.world.desk.answer(run, str(asked["id"]), approve=True, reason="yes",
                                   now=self.world.clock.now())


def night(url: str, clock: FixedClock, folder: Path) -> World:
    models = {"main": ModelConfig("anthropic_api", "claude-sonnet-5", url),
              "spare": ModelConfig("openai_api", "gpt-5.1")}
    tables = open_tables(folder / "oneshot.db")
    world = World(clock=clock, begun=EVENING, tables=tables, rules=rules(
        models=models, routing=Routing(order=("main", "spare"), on_limit="wait"),
        policy=Policy(confirm_commands=("risky",)), approvals=Approvals("wait", 86400, 8 * 3600),
        limits=Limits(steps=100, usd=MONEY, until=at(9.5))))
    world.others = {"main": AnthropicApi("claude-sonnet-5", "dummy", url),
                    "spare": OpenAiApi("gpt-5.1", "dummy", url + "/v1", dialect="strict")}
    world.mailbox = Sleeper(world, at(5))
    world.authority.findings["green"] = Finding.FAILING
    return world


def slept_through(world: World) -> Head:
    """The run, with a controller that is killed twice and started again each time."""
    for step in DIES_IN:
        world.go(step - 1 - world.open().spent.steps)
        with pytest.raises(Died):
            world.go(wrap=dying_at(Countdown(9)))
        world.alive = False
    return world.go(wrap=Wrap())


def test_a_night_of_limits_failures_crashes_and_a_dead_backend_ends_proved(tmp_path: Path) -> None:
    clock = FixedClock(EVENING)
    provider = Provider(clock, ((at(0.5), at(1.25)), (at(2), at(2.75)), (at(6), at(6.5))), at(4),
                        failures=40)
    with ModelServer(provider) as server:
        world = night(server.url, clock, tmp_path)
        world.open()
        world.authority.findings["green"] = Finding.VERIFIED
        head = slept_through(world)

    records = list(world.queries.audit(RUN))
    assert head.stopped is not None
    assert (head.stopped.why, head.spent.steps) == (Stop.FINISHED, STEPS)
    assert at(7.5) <= clock.now() <= at(8.5)
    missed = [record["miss"] for record in records if record["kind"] == "unanswered"]
    # The key that is no good is tried once more by the controller that begins after a crash.
    assert (missed.count("Limit"), missed.count("AuthFailed")) == (3, 2)
    assert len(missed) - 5 == 40
    assert [(record["from"], record["model"]) for record in records
            if record["kind"] == "switched"][-1] == ("main", "spare")
    approved = [record["at"] for record in records if record["kind"] == "approved"]
    assert [str(when)[11:16] for when in approved] == ["03:00"]
    assert world.files.writes == [f"write notes{n}.md {n}" if n != RISKY else "write app.py risky"
                                  for n in range(1, STEPS - 1)]
    assert world.queries.broken_link(RUN) is None
    assert unexplained(records) == []
    assert overspent(records) == []
    assert 0 < head.spent.usd <= MONEY


def unexplained(records: list[JsonObject]) -> list[str]:
    """Every stretch of time of which the trail does not say what it went by with."""
    found = []
    for before, after in pairwise(records):
        then, now = (datetime.fromisoformat(str(one["at"])) for one in (before, after))
        known = then + THINKS
        if until := before.get("until"):
            known = datetime.fromisoformat(str(until)) + THINKS + timedelta(seconds=5)
        if before["kind"] == "parked":
            known = now  # a person was waited for, and the answer is the next record
        if now > known:
            found.append(f"{then:%H:%M:%S} {before['kind']} to {now:%H:%M:%S} {after['kind']}")
    return found


def overspent(records: list[JsonObject]) -> list[JsonObject]:
    """Every record at which more was spent than may be."""
    spent, found = 0.0, []
    for record in records:
        call = entries(record.get("call")) or record
        usd = call.get("usd")
        spent += usd if isinstance(usd, float) and record["kind"] != "approved" else 0.0
        if spent > MONEY:
            found.append(record)
    return found


def test_a_budget_ends_the_night_before_a_call_that_may_pass_it(tmp_path: Path) -> None:
    clock = FixedClock(EVENING)
    with ModelServer(Provider(clock, (), at(99), failures=3)) as server:
        world = night(server.url, clock, tmp_path)
        world.rules = replace(world.rules, limits=Limits(usd=0.4))
        head = world.go()

    assert head.stopped is not None
    assert (head.stopped.why, head.spent.usd < 0.4) == (Stop.LIMIT, True)
    assert "and the next call may cost $" in head.stopped.reason


def test_a_limit_that_is_over_after_the_run_s_time_ends_it_at_once(tmp_path: Path) -> None:
    clock = FixedClock(EVENING)
    with ModelServer(lambda _: limit(at(11))) as server:
        head = night(server.url, clock, tmp_path).go()

    assert head.stopped is not None
    assert (head.stopped.why, clock.now()) == (Stop.LIMIT, EVENING)
    assert "no model can be asked before 2026-01-06 09:01 UTC" in head.stopped.reason


def test_a_wait_goes_on_through_a_restart(tmp_path: Path) -> None:
    """Nobody is asked before its end, whoever died meanwhile."""
    clock = FixedClock(EVENING)
    asked: list[datetime] = []

    def answer(_: ModelRequest) -> Answer:
        asked.append(clock.now())
        return limit(at(0.5))

    with ModelServer(answer) as server:
        world = night(server.url, clock, tmp_path)
        with pytest.raises(Died):
            world.go(wrap=dying_at(Countdown(60)))
        half = clock.now()
        world.alive = False
        with pytest.raises(Died):
            world.go(wrap=dying_at(Countdown(12_000)))

    assert EVENING < half < at(0.5)
    assert asked[0] == EVENING
    assert asked[1] >= at(0.5)


def test_what_a_person_has_allowed_waits_for_no_model(tmp_path: Path) -> None:
    clock = FixedClock(EVENING)

    def answer(request: ModelRequest) -> Answer:
        if clock.now() > EVENING:
            return limit(at(8))
        clock.sleep(1)
        return Answer(json.dumps({"expected_version": 0, "state_patch": {},
                                  "action": command("write app.py risky")}))

    with ModelServer(answer) as server:
        world = night(server.url, clock, tmp_path)
        world.rules = replace(world.rules, approvals=Approvals("continue", 86400, 0))
        with pytest.raises(Died):
            world.go(wrap=dying_at(Countdown(60)))
        asked, = world.queries.questions(RUN)
        world.desk.answer(RUN, str(asked["id"]), approve=True, reason="", now=clock.now())
        world.alive = False
        with pytest.raises(Died):
            world.go(wrap=dying_at(Countdown(60)))

    assert world.files.writes == ["write app.py risky"]
    assert clock.now() < at(1)
