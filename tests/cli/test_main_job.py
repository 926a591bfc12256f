"""The main job, end to end: a real repository, real commands, real model interfaces, one proof."""

import json
import os
from pathlib import Path

import pytest

from controller.core.canonical import JsonObject
from controller.testing.model_server import ModelServer
from controller.testing.script import Encode, Script, to_ops
from tests.adapters.conftest import binary
from tests.cli.conftest import DEMO, Shop
from tests.conftest import Git


def cassette() -> list[JsonObject]:
    return [json.loads(line)["reply"]
            for line in (DEMO / "cassette.jsonl").read_text().splitlines()]


def test_the_demo_is_proved_done(shop: Shop) -> None:
    """Refusal, drift, kill -9, resume, a person's answer, and a proof, all in `oneshot demo`."""
    ran = shop.oneshot("demo", "--dir", str(shop.repo.parent / "demo"))

    assert ran.code == 0, ran.out + ran.err
    for said in ("the contract forbids to change .github/workflows/ci.yml",
                 "drift: somebody else changed files", "was killed (kill -9) in step 11",
                 "stopped without saying so", "found open: run python -m pytest -q (workspace)",
                 "waits for a person: c12", "finished: 3 of 3 criteria are proved"):
        assert said in ran.out, said
    state = json.loads(next((shop.repo.parent / "demo/basket/.agent-runtime/runs").glob(
        "*/state.json")).read_text())
    assert state["spent"]["steps"] >= 15
    assert list((shop.repo.parent / "demo/basket/.agent-runtime/runs").glob("*/report.html"))


@pytest.mark.parametrize(("adapter", "variable", "key", "path", "encode"), [
    ("claude_cli", "ONESHOT_TEST_CLAUDE", "ANTHROPIC_API_KEY", "", lambda transition: transition),
    ("codex_cli", "ONESHOT_TEST_CODEX", "OPENAI_API_KEY", "/v1", to_ops),
], ids=["claude", "codex"])
def test_the_same_run_through_a_real_agent_cli(
        shop: Shop, git: Git, adapter: str, variable: str, key: str, path: str,
        encode: Encode, tmp_path: Path) -> None:
    shop.contract("config.yaml", f"""
model: {{adapter: {adapter}, model: test-model, binary: {binary(variable)}}}
limits: {{steps: 100}}
test_command: python -m pytest -q
""")
    record = tmp_path / "recorded.jsonl"
    with ModelServer(Script(cassette(), encode)) as server:
        reach = ("--base-url", server.url + path, "--record", str(record))
        first = shop.oneshot("run", *reach, **{key: "dummy"})
        assert shop.oneshot("approve", "c12").code == 0
        second = shop.oneshot("resume", *reach, **{key: "dummy"})

    assert (first.code, second.code) == (8, 0), first.err + second.err
    assert len(server.requests) == 16
    status = shop.oneshot("status", "--json").json
    assert (status["phase"], status["exit_code"], status["step"]) == ("finished", 0, 16)
    assert {item["finding"] for item in status["criteria"].values()} == {"verified"}
    assert status["usage"]["tokens"] == sum(
        len(request.text) // 4 + 10 for request in server.requests)
    branch = f"oneshot/{status['run']}"
    assert git(shop.repo, "rev-parse", branch) == status["git"]["head"]
    assert git(shop.repo, "diff", "--name-only", "main", branch).splitlines() == [
        "src/basket/cart.py", "src/basket/prices.py", "tests/test_cart.py"]
    assert git(shop.repo, "status", "--porcelain") == "M .agent-contract/config.yaml"
    assert len(record.read_text().splitlines()) == 16


def test_a_recorded_cassette_plays_the_same_run(quick: Shop, tmp_path: Path) -> None:
    played = quick.replies(
        {"action": {"kind": "edit", "changes": [
            {"op": "write", "path": "hello.txt", "content": "hello, “world”"}]}},
        {"action": {"kind": "commit", "message": "Hello"}},
        {"action": {"kind": "finish", "result": "done", "summary": "Said."}})
    recorded = tmp_path / "recorded.jsonl"

    first = quick.oneshot("run", "--cassette", str(played), "--record", str(recorded))
    second = quick.oneshot("run", "--cassette", str(recorded))

    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert recorded.read_text().count("“world”") == 1


def test_the_controller_killed_while_it_asks_the_model_asks_again(quick: Shop) -> None:
    """`kill -9` between render and begin: nothing has happened, and the same step is made anew."""
    asked: list[int] = []

    def deadly(request: object) -> str:
        asked.append(1)
        if len(asked) == 1:
            holder = quick.oneshot("status", "--json")
            assert holder.json["phase"] == "running"
            os.kill(int(_pid(quick)), 9)
        return json.dumps({"expected_version": 0, "state_patch": {}, "action": {
            "kind": "finish", "result": "impossible", "summary": "enough"}})

    quick.contract("config.yaml", "model: {adapter: openai_api, model: m, api: chat, "
                                  "dialect: plain}\nlimits: {steps: 9}\n")
    with ModelServer(deadly) as server:
        reach = ("--base-url", server.url + "/v1")
        killed = quick.oneshot("run", *reach, OPENAI_API_KEY="dummy")
        resumed = quick.oneshot("resume", *reach, OPENAI_API_KEY="dummy")

    assert (killed.code, resumed.code) == (-9, 5), resumed.err
    assert quick.oneshot("status", "--json").json["step"] == 1


def _pid(shop: Shop) -> int:
    from controller.store.queries import Queries
    from controller.store.sqlite import open_tables

    queries = Queries(open_tables(shop.repo / ".agent-runtime/oneshot.db"))
    holder = queries.holder(queries.runs()[-1])
    assert holder is not None
    return holder.pid
