"""The contract from the shell: what its user changes while a run is going; what is enforced."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Shop
from tests.cli.test_commands import COMMIT, FINISH, WRITE
from tests.conftest import Git

CONTRACT = """\
goal: Say hello.
success_criteria:
  hello: {{check: {{file: hello.txt, contains: hello}}}}
locked_requirements:
  - CSV timestamps are written in UTC
constraints:
  - {constraint}
"""


def under(shop: Shop, git: Git, constraint: str) -> None:
    shop.contract("intent-contract.yaml", CONTRACT.format(constraint=constraint))
    git(shop.repo, "commit", "-q", "-a", "-m", "a contract")


def run(line: str, **more: Any) -> dict[str, Any]:
    return {"action": {"kind": "run", "shell": line}, **more}


def edit(path: str, content: str) -> dict[str, Any]:
    return {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": path, "content": content}]}}


@pytest.mark.parametrize(("constraint", "reply", "said"), [
    ("no_new_dependencies: true", edit("requirements.txt", "click>=8\nlodash\n"),
     "constraint-1: requirements.txt:2: lodash is a new dependency"),
    ("forbid_imports: [requests]", edit("src/basket/web.py", "import os\nimport requests\n"),
     "constraint-1: src/basket/web.py:2: imports requests, which the contract forbids"),
    ('public_api: {paths: ["src/**"]}', {"action": {"kind": "edit", "changes": [
        {"op": "replace", "path": "src/basket/prices.py", "old": "def parse_price(",
         "new": "def parse_prices("}]}},
     "the public parse_price is gone"),
    ("max_lines: 3", edit("new.txt", "1\n2\n3\n4\n"),
     "constraint-1: 4 lines would be added and removed, the contract allows 3"),
    ("forbid_commands: ['\\bcurl\\b']", run("curl http://x"),
     "constraint-1: the contract forbids this command"),
    ('forbid_paths: ["docs/**"]', edit("docs/a.md", "x"),
     "constraint-1: the contract forbids to change docs/a.md"),
], ids=["dependency", "import", "api", "lines", "command", "path"])
def test_what_can_be_known_before_is_refused_before_it_is_done(
        shop: Shop, git: Git, constraint: str, reply: dict[str, Any], said: str) -> None:
    under(shop, git, constraint)

    shop.oneshot("run", "--cassette", str(shop.replies(reply)), "--steps", "1")

    (record,) = records(shop, "refused")
    assert said in record["observation"]


@pytest.mark.parametrize(("constraint", "line", "said"), [
    ("no_new_dependencies: true", "echo lodash >> requirements.txt",
     "constraint-1: requirements.txt:1: lodash is a new dependency"),
    ('forbid_paths: ["docs/**"]', "mkdir docs && echo x > docs/a.md",
     "constraint-1: the contract forbids to change docs/a.md"),
    ("max_files: 2", "touch a b c", "constraint-1: 3 files would differ from the base"),
    ('public_api: {paths: ["src/**"]}', "rm src/basket/prices.py",
     "the public parse_price is gone"),
], ids=["dependency", "path", "files", "api"])
def test_what_only_shows_afterwards_is_undone_and_told(
        shop: Shop, git: Git, constraint: str, line: str, said: str) -> None:
    under(shop, git, constraint)
    cassette = shop.replies(run(f"{line}; echo its output", state_patch={
        "facts": {"a": {"text": "done"}}}), {**run("ls"), "expected_version": 1})

    shop.oneshot("run", "--cassette", str(cassette), "--steps", "1")

    (record,) = records(shop, "committed")
    assert "Your action was undone" in record["observation"]
    assert said in record["observation"]
    assert "its output" in record["observation"]
    assert record["outcome"]["tree"] == record["outcome"]["tree_before"]
    state = json.loads(next((shop.repo / ".agent-runtime/runs").glob("*/state.json")).read_text())
    assert state["state"]["facts"] == {}


def test_a_command_may_go_on_over_what_was_there_before_it(shop: Shop, git: Git) -> None:
    under(shop, git, "max_files: 1")
    shop.oneshot("run", "--cassette", str(shop.replies(WRITE, run("true"), run("touch c"))),
                 "--steps", "1")
    (shop.worktree / "by-hand.txt").write_text("a person's")

    shop.oneshot("resume", "--steps", "2")

    done = records(shop, "committed")
    assert "undone" not in done[1]["observation"]
    assert "3 files would differ" in done[2]["observation"]


def test_what_must_pass_is_run_before_each_git_commit_and_at_the_end(
        shop: Shop, git: Git) -> None:
    under(shop, git, "{text: It stays small, must_pass: 'test ! -e big.txt'}")
    cassette = shop.replies(WRITE, run("touch big.txt"), COMMIT, {
        **run("rm big.txt"), "expected_version": 2}, {**COMMIT, "expected_version": 3},
        {**FINISH, "expected_version": 4})

    ran = shop.oneshot("run", "--cassette", str(cassette))

    assert ran.code == 0, ran.err
    (refused,) = records(shop, "refused")
    assert "constraint-1: what must pass did not (`test ! -e big.txt` exits 0): exit 1" in (
        refused["observation"])
    last = records(shop, "committed")[-1]
    assert {item["subject"]: item["finding"] for item in last["evidence"]} == {
        "postcondition:delivered": "verified", "postcondition:changed": "verified",
        "hello": "verified", "constraint-1": "verified"}


def test_a_rule_that_is_said_once_still_holds_fifty_steps_later_and_in_the_final_evidence(
        shop: Shop, git: Git) -> None:
    """The seed's: "CSV timestamps in UTC", said in the middle of a run."""
    csv = "import csv\nfrom datetime import {0}\nSTAMP = {1}\n"
    good, bad = csv.format("UTC", "UTC"), csv.format("datetime", "datetime.now()")
    under(shop, git, "keep it small")
    replies: list[dict[str, Any]] = [WRITE, *(run(f"echo {n} > scratch.txt") for n in range(52))]
    at = len(replies)
    replies += [edit("export.py", bad), {**COMMIT, "expected_version": at + 2},
                {**edit("export.py", good), "expected_version": at + 2},
                {**COMMIT, "expected_version": at + 3}, {**FINISH, "expected_version": at + 4}]
    for number, reply in enumerate(replies[1:], 1):
        reply.setdefault("expected_version", number + 1)  # the new contract is a version of its own
    cassette = shop.replies(*replies)
    shop.oneshot("run", "--cassette", str(cassette), "--steps", "1")

    added = shop.oneshot("intent", "add", "constraint", "CSV timestamps in UTC", "--limit",
                         "must_pass: '! grep -rn \"now()\" --include=export.py .'")
    ran = shop.oneshot("resume", "--max-steps", "80")

    assert "+ constraint-2: CSV timestamps in UTC" in added.out
    assert ran.code == 0, ran.err
    (refused,) = records(shop, "refused")
    assert refused["step"] == at + 2 > 52
    assert "constraint-2" in refused["observation"]
    assert "export.py:3:STAMP = datetime.now()" in refused["observation"]
    last = records(shop, "committed")[-1]
    assert {"constraint-2": "verified"}.items() <= {
        item["subject"]: item["finding"] for item in last["evidence"]}.items()
    prompts = [shop.oneshot("show", str(step), "--prompt").out for step in (1, 2, at + 1)]
    assert [("CSV timestamps in UTC" in prompt) for prompt in prompts] == [False, True, True]


def test_the_contract_is_shown_changed_and_its_history_kept(quick: Shop) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE)), "--steps", "1")

    first = quick.oneshot("intent", "show")
    quick.oneshot("intent", "add", "requirement", "No floats", "--source", "https://forge/issues/7")
    quick.oneshot("intent", "add", "criterion", "bye", "Says bye", "--check", "test -e bye.txt")
    quick.oneshot("intent", "amend", "requirement-1", "No floats, ever")
    retired = quick.oneshot("intent", "retire", "requirement-1", "--reason", "too strict")
    log = quick.oneshot("intent", "log", "--json").json

    assert "hello: " in first.out
    assert ".agent-contract/intent-contract.yaml:3@" in first.out
    assert retired.out == "- requirement-1: No floats, ever\n"
    assert [row["op"] for row in log["versions"]] == ["add", "add", "amend", "retire"]
    assert "too strict" in log["versions"][-1]["source"]
    assert "(https://forge/issues/7@" in log["versions"][0]["source"]
    diff = quick.oneshot("intent", "diff", "1")
    assert diff.out == '+ bye: Says bye {"check":{"shell":"test -e bye.txt"}}\n'
    shown = quick.oneshot("intent", "show", "--json").json["contract"]
    assert shown["version"] == 5


@pytest.mark.parametrize(("args", "said"), [
    (("add", "constrain", "x"), "no kind of item 'constrain'; did you mean 'constraint'?"),
    (("add", "criterion"), "expected the criterion's id"),
    (("add", "criterion", "a", "b"), "a criterion needs --check LINE"),
    (("add", "requirement", "a", "--limit", "max_files: 1"), "--limit is for constraints"),
    (("add", "constraint", "a", "--limit", "max_files: 0"), "max_files: expected"),
    (("add", "constraint", "a", "--limit", "max_files: ["), "--limit:1:"),
    (("amend", "hello"), "expected what hello is to say"),
    (("amend", "helo", "x"), "no item 'helo'; did you mean 'hello'?"),
    (("retire", "hello"), "hello is the only criterion"),
    (("diff", "1", "9"), "has no version 9"),
], ids=["kind", "id", "check", "limit", "value", "yaml", "nothing", "item", "last", "version"])
def test_a_change_that_can_not_be_made_says_why(
        quick: Shop, args: tuple[str, ...], said: str) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(WRITE)), "--steps", "1")

    ran = quick.oneshot("intent", *args)

    assert ran.code == 2
    assert said in ran.err


def test_a_message_against_what_is_locked_is_asked_about(shop: Shop, git: Git) -> None:
    under(shop, git, "keep it small")
    shop.oneshot("run", "--cassette", str(shop.replies(WRITE, COMMIT)), "--steps", "1")

    said = shop.oneshot("say", "write CSV timestamps in local time instead of UTC")
    shown = shop.oneshot("approvals", "x1")
    answered = shop.oneshot("deny", "x1")

    assert "seems to contradict what you have locked" in said.err
    assert "CSV timestamps are written in UTC" in shown.out
    assert "write CSV timestamps in local time" in shown.out
    assert answered.code == 0
    assert "taken back by the user" in shop.oneshot("log").out


def test_why_goes_from_a_criterion_to_its_evidence(quick: Shop) -> None:
    cassette = quick.replies(WRITE, COMMIT, FINISH)
    quick.oneshot("run", "--cassette", str(cassette), "--steps", "1")
    before = quick.oneshot("why", "hello")
    quick.oneshot("resume")
    after = quick.oneshot("why", "hello", "--json").json["criteria"][0]

    assert "hello: missing: failing at the start: there is no such file" in before.out
    assert "proved by: file hello.txt has 'hello'" in before.out
    assert after["standing"] == "present"
    assert [check["finding"] for check in after["checks"]] == ["failing", "verified"]
    assert quick.oneshot("why", "helo").code == 2


def test_the_state_of_a_run_goes_to_another_schema_and_back(quick: Shop) -> None:
    import contracts

    (quick.repo / ".agent-contract/state.schema.json").write_text(
        json.dumps(contracts.domain("coding", 1)))
    quick.oneshot("run", "--cassette", str(quick.replies(
        {**WRITE, "state_patch": {"hypotheses": {"h": {
            "text": "x", "status": "confirmed", "evidence": "seen"}}}},
        {**COMMIT, "expected_version": 2}, {**FINISH, "expected_version": 3})), "--steps", "1")

    dry = quick.oneshot("migrate", "--dry-run")
    resumed = quick.oneshot("resume", "--steps", "1")
    state = quick.oneshot("show", "2", "--prompt").out
    back = quick.oneshot("migrate", "--to", "start", "--dry-run")
    done = quick.oneshot("resume")

    assert '/hypotheses/h/result: null -> "seen"' in dry.out, dry
    assert "oneshot/state/coding@1 -> oneshot/state/coding@3; nothing was changed" in dry.err
    assert "brought to its schema's version 3 (version 2 of the run" in resumed.err
    assert '"evidence":"unknown","result":"seen"' in state
    assert '/hypotheses/h/evidence: "unknown" -> "seen"' in back.out
    assert done.code == 0, done.err


def test_a_state_that_does_not_fit_another_schema_says_exactly_where(quick: Shop) -> None:
    import contracts

    mine: Any = contracts.domain("coding")
    quick.oneshot("run", "--cassette", str(quick.replies(
        {**WRITE, "state_patch": {"facts": {"a": {"text": "x" * 50}}}})), "--steps", "1")
    mine["x-version"] = 4
    mine["properties"]["facts"]["additionalProperties"]["properties"]["text"]["maxLength"] = 10
    (quick.repo / ".agent-contract/state.schema.json").write_text(json.dumps(mine))
    (quick.repo / ".agent-contract/transition.schema.json").unlink(missing_ok=True)

    ran = quick.oneshot("migrate", "--to", "project")

    assert ran.code == 2
    assert "/facts/a/text: expected at most 10 characters, got 50" in ran.err


def records(shop: Shop, kind: str) -> list[Any]:
    audit = next((shop.repo / ".agent-runtime/runs").glob("*/audit.jsonl")).read_text()
    return [record for record in map(json.loads, audit.splitlines()) if record["kind"] == kind]
