"""Every gate's objections: where, and what to do about it."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.action import Command
from controller.core.canonical import JsonObject, canonical
from controller.core.contract import CommandCheck, Constraint, Contract, Criterion
from controller.core.errors import Refused
from controller.core.facts import Facts
from controller.core.gates import admit
from controller.core.head import Head
from controller.core.policy import Policy
from controller.core.prompt import render
from controller.core.records import Call, Reply
from controller.core.rules import Rules
from controller.core.verdict import worst
from controller.testing.clock import MORNING
from controller.testing.world import World, rules

READ: JsonObject = {"kind": "read", "files": [{"path": "app.py"}]}
EDIT: JsonObject = {"kind": "edit", "changes": [{"op": "delete", "path": "app.py"}]}


def edit(path: str, **more: str) -> JsonObject:
    return {"kind": "edit", "changes": [{"op": "write", "path": path, "content": "", **more}]}


def judged(body: bytes, made: Rules | None = None, **facts: Any) -> dict[str, str]:
    """Path -> message of every objection to a reply, and the decision under the key `decision`."""
    world = World(rules=made or rules())
    head: Head = replace(world.open(), exposed=facts.pop("exposed", False))
    now: Facts = replace(world.authority.observe(head), **facts)
    call = Call(render(world.rules, head), Reply(body), MORNING)
    try:
        _, verdicts = admit(call, head, now, world.rules)
    except Refused as refusal:
        verdicts = refusal.verdicts
    found = {o.path: o.message for verdict in verdicts for o in verdict.objections}
    return {**found, "decision": worst(verdicts).name}


def asked(action: Any = READ, patch: Any = None, **changes: Any) -> bytes:
    return canonical({"expected_version": 0, "state_patch": patch or {}, "action": action,
                      **changes})


def contract(**changes: Any) -> Rules:
    criterion = Criterion("green", "", CommandCheck(Command(("pytest",))))
    return rules(contract=Contract(
        "Do it.", (criterion,), constraints=(Constraint("constraint-1", **changes),)))


def test_a_good_reply_is_allowed_by_every_gate() -> None:
    assert judged(asked()) == {"decision": "ALLOW"}


@pytest.mark.parametrize(("body", "path", "message"), [
    (asked(actoin=1), "/actoin", "unknown key; did you mean 'action'?"),
    (b'{"expected_version": 0, "action": {}}', "/state_patch", "missing; add it"),
    (asked(expected_version=3), "/expected_version", "expected 0, the version shown, got 3"),
    (asked(expected_version=True), "/expected_version", "expected 0, the version shown, got True"),
    (asked(expected_version="0"), "/expected_version", "expected 0, the version shown, got '0'"),
], ids=["unknown-key", "missing-key", "stale", "true-is-no-version", "text-is-no-version"])
def test_envelope(body: bytes, path: str, message: str) -> None:
    assert judged(body)[path].startswith(message)


@pytest.mark.parametrize(("action", "path", "message"), [
    ({"kind": "raed"}, "/action/kind", 'expected a kind of action, got "raed"; did you mean'),
    ([], "/action", "expected an object, got []"),
    ({}, "/action/kind", "expected a kind of action, got null; expected one of read, search"),
    ({"kind": "read"}, "/action/files", "missing; add it"),
    ({"kind": "read", "files": []}, "/action/files", "expected at least 1, got 0"),
    ({"kind": "read", "files": [{"path": "a", "frist": 1}]}, "/action/files/0/frist",
     "unknown key; did you mean 'first'?"),
    ({"kind": "read", "files": [{"path": "a", "first": 0}]}, "/action/files/0/first",
     "expected at least 1, got 0"),
    ({"kind": "run"}, "/action", "expected exactly one of argv, shell; got"),
    ({"kind": "run", "argv": ["a"], "shell": "a"}, "/action", "expected exactly one of argv, sh"),
    ({"kind": "run", "argv": "pytest"}, "/action/argv", 'expected array, got "pytest"'),
    ({"kind": "edit", "changes": [{"op": "replace", "path": "a", "old": "x"}]},
     "/action/changes/0/new", "missing; add it"),
    ({"kind": "edit", "changes": [{"op": "replcae"}]}, "/action/changes/0/op",
     'expected an op, got "replcae"; did you mean \'replace\'?'),
    ({"kind": "finish", "result": "finished", "summary": "x"}, "/action/result",
     'expected one of "done", "impossible"; got "finished"'),
    ({"kind": "wait", "seconds": 9999}, "/action/seconds", "expected at most 3600, got 9999"),
])
def test_schema(action: Any, path: str, message: str) -> None:
    assert judged(asked(action))[path].startswith(message)


@pytest.mark.parametrize(("patch", "path", "message"), [
    ({"fact": {}}, "/state_patch/fact", "unknown key; did you mean 'facts'?"),
    ({"criteria": {"green": {"finding": "verified"}}}, "/state_patch/criteria",
     "belongs to the controller; leave it out of the patch"),
    ({"recent": None}, "/state_patch/recent", "belongs to the controller"),
    ({"facts": []}, "/state_patch/facts", "expected an object of entries; to delete"),
    ({"facts": {"EXAMPLE-ID": {"text": "x"}}}, "/state_patch/facts/EXAMPLE-ID",
     "expected a name that matches"),
    ({"facts": {"a": {}}}, "/state_patch/facts/a/text", "missing; add it"),
    ({"facts": {"a": {"text": "x" * 500}}}, "/state_patch/facts/a/text",
     "expected at most 400 characters, got 500; shorten it"),
    ({"facts": {"a": "text"}}, "/state_patch/facts/a", 'expected object, got "text"'),
    ({"plan": {"a": {"text": "x", "status": "open"}}}, "/state_patch/plan/a/status",
     'expected one of "todo", "doing", "done", "dropped"; got "open"'),
    ({"questions": {f"q{i}": "?" for i in range(13)}}, "/state_patch/questions",
     "expected at most 12 entries, got 13; delete some"),
    ({"files": {f"{i}" * 140: "x" * 300 for i in range(10, 50)}, "facts": {
        f"f{i}": {"text": "x" * 400} for i in range(40)}}, "/state_patch",
     "your part of the state would be"),
])
def test_patch(patch: JsonObject, path: str, message: str) -> None:
    assert judged(asked(patch=patch))[path].startswith(message)


def test_entries_are_not_dropped_without_being_named() -> None:
    assert judged(asked(patch={"facts": None}))["decision"] == "REFUSE"


def test_source_text_that_spells_a_nul_is_no_nul() -> None:
    found = judged(asked({"kind": "edit", "changes": [
        {"op": "write", "path": "a.py", "content": "NUL = '\\u0000'"}]}))

    assert found["decision"] == "ALLOW"


@pytest.mark.parametrize("pattern", [
    "a{99999999999999999999}", "(" * 5000, "[", "(?P<a>x)(?P<a>y)"])
def test_a_pattern_that_no_engine_takes_is_an_objection(pattern: str) -> None:
    body = asked({"kind": "search", "pattern": pattern[:400]})

    assert "not a regular expression" in judged(body)["/action/pattern"]


def test_objections_are_counted_beyond_twenty_and_repeat_no_secret() -> None:
    secret = "ghp_" + "a" * 36

    many = judged(canonical({f"key{n}": 1 for n in range(20_000)}))
    told = judged(asked({"kind": secret}))

    assert len(many) == 22
    assert "more like these" in many[""]
    assert secret not in str(told)


def test_a_nul_reaches_no_program() -> None:
    for action in ({"kind": "run", "argv": ["a\0b"]}, {"kind": "search", "pattern": "\0"},
                   {"kind": "commit", "message": "\0"}):
        assert judged(asked(action))["/action"].startswith("must not contain the character NUL")


@pytest.mark.parametrize(("changes", "action", "message"), [
    ({"forbid_paths": ("docs/**",)}, edit("docs/a/b.md"), "the contract forbids to change docs/a"),
    ({"allow_paths": ("src/**",)}, edit("b.py"), "b.py is outside the paths"),
    ({"max_files": 1}, edit("b.py"), "2 files would differ from the base, the contract allows 1"),
    ({"forbid_paths": ("x.py",)}, {"kind": "commit", "message": "m"},
     "the contract forbids to change x.py"),
], ids=["forbidden", "outside", "too-many", "forbidden-by-a-command"])
def test_intent(changes: Any, action: JsonObject, message: str) -> None:
    found = judged(asked(action), contract(**changes), changed=frozenset({"x.py"}))

    assert found["/action"].startswith(f"constraint-1: {message}")
    assert found["decision"] == ("CONFIRM" if "outside" in message else "REFUSE")


@pytest.mark.parametrize(("patch", "path", "message"), [
    ({"hypotheses": {"a": {"text": "x", "status": "confirmed"}}},
     "/state_patch/hypotheses/a/evidence", "a confirmed hypothesis needs evidence"),
    ({"plan": {"a": {"text": "x", "status": "doing"}, "b": {"text": "x", "status": "doing"}}},
     "/state_patch/plan/b/status", "only one plan item is `doing` at a time; a is already"),
])
def test_invariants(patch: JsonObject, path: str, message: str) -> None:
    assert judged(asked(patch=patch))[path].startswith(message)


@pytest.mark.parametrize("path", [
    "/etc/passwd", "../out", "a/../../out", "~/x", "a\\b", ".git/config", "sub/.git/hooks/x",
    "a/.GIT/x", ".agent-contract/policy.yaml", ".agent-runtime/x", "a//b", "./a", "a/.", "a\nb",
    "a\x7f", "x" * 300,
])
def test_action_policy_refuses_paths_that_no_action_may_name(path: str) -> None:
    found = judged(asked(edit(path)))

    assert found["decision"] == "REFUSE"
    assert found["/action/changes"].startswith("the path ")


@pytest.mark.parametrize(("policy", "action", "decision"), [
    (Policy(protected_paths=("*.py",)), edit("app.py"), "CONFIRM"),
    (Policy(protected_paths=("*.py",)), edit("new.py"), "ALLOW"),
    (Policy(forbidden_commands=(r"\bgit push\b",)), {"kind": "run", "shell": "git push -f"},
     "REFUSE"),
    (Policy(confirm_commands=("publish",)), {"kind": "run", "argv": ["npm", "publish"]}, "CONFIRM"),
    (Policy(forbidden_commands=("curl",)), {**EDIT, "check": {"shell": "curl x"}}, "REFUSE"),
    (Policy(), edit(".pytest.ini"), "CONFIRM"),
    (Policy(), edit("sub/GNUmakefile"), "CONFIRM"),
    (Policy(), edit(".gitattributes"), "CONFIRM"),
    (Policy(shadows=frozenset({"pytest.py"})), edit("pytest.py"), "CONFIRM"),
    (Policy(max_timeout=60), {"kind": "run", "shell": "true", "timeout": 61}, "REFUSE"),
    (Policy(), {"kind": "search", "pattern": "("}, "REFUSE"),
], ids=["protected", "new-file", "forbidden", "asked-about", "forbidden-check",
        "runner", "make", "attributes", "shadow", "too-long",
        "regex"])
def test_action_policy(policy: Policy, action: JsonObject, decision: str) -> None:
    assert judged(asked(action), rules(policy=policy))["decision"] == decision


def test_what_a_person_agreed_to_is_committed_unasked_and_edited_again_only_when_asked() -> None:
    made = rules(policy=Policy(protected_paths=("*.py",)))
    agreed = {"changed": frozenset({"app.py"}), "agreed": frozenset({"app.py"})}

    commit = judged(asked({"kind": "commit", "message": "m"}), made, **agreed)
    again = judged(asked(edit("app.py")), made, **agreed)

    assert (commit["decision"], again["decision"]) == ("ALLOW", "CONFIRM")


def test_a_commit_holds_nothing_that_no_edit_may_name() -> None:
    found = judged(asked({"kind": "commit", "message": "m"}),
                   changed=frozenset({".agent-contract/policy.yaml"}))

    assert found["decision"] == "REFUSE"
    assert found["/action"].startswith(".agent-contract/policy.yaml belongs to the user")


@pytest.mark.parametrize(("path", "decision"), [
    ("sub/conftest.py", "CONFIRM"), ("package.json", "CONFIRM"), ("tests/test_new.py", "ALLOW")])
def test_a_new_file_is_asked_about_when_it_decides_how_tests_are_run(
        path: str, decision: str) -> None:
    made = rules(policy=Policy(protected_paths=("conftest.py", "package.json", "tests")))

    assert judged(asked(edit(path)), made)["decision"] == decision


def test_a_commit_of_a_protected_file_changed_by_a_command_is_asked_about() -> None:
    made = rules(policy=Policy(protected_paths=("*.py",)))

    found = judged(asked({"kind": "commit", "message": "m"}), made, changed=frozenset({"app.py"}))

    assert found == {"/action": "app.py is protected: a person must agree first",
                     "decision": "CONFIRM"}


@pytest.mark.parametrize(("text", "rule"), [
    ("key = sk-ant-" + "a1B2" * 8, "anthropic key"), ("ghp_" + "a" * 36, "github token"),
    ("AKIA" + "B" * 16, "aws access key"), ("https://me:secret@host/", "password in a url"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMII", "private key"),
    ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdefghijk", "json web token"),
])
def test_sensitivity_names_the_rule_and_never_the_value(text: str, rule: str) -> None:
    for action, patch in ((edit("a", content=text), {}), (READ, {"questions": {"a": text}}),
                          ({"kind": "commit", "message": text}, {}),
                          ({"kind": "run", "argv": ["echo", text]}, {})):
        found = judged(asked(action, patch))

        assert found.pop("decision") == "REFUSE"
        assert [rule in message for message in found.values()] == [True]
        assert text not in str(found)


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u2066", "\U000e0041", "\ufeff"])
def test_sensitivity_refuses_characters_that_nobody_sees(char: str) -> None:
    found = judged(asked(edit("a", content=f"x{char}y")))

    assert f"U+{ord(char):04X}" in found["/action/changes/0/content"]


def test_every_judge_is_heard_at_once() -> None:
    found = judged(
        asked(edit("docs/.git/x"), {"hypotheses": {"a": {"text": "\u202e", "status": "refuted"}}}),
        contract(forbid_paths=("docs/**",)))

    assert set(found) == {"/action", "/action/changes", "/state_patch/hypotheses/a/evidence",
                          "/state_patch/hypotheses/a/text", "decision"}


def test_a_check_may_not_change_anything_elsewhere() -> None:
    """It may be run any number of times."""
    check: JsonObject = {**EDIT, "check": {"shell": "deploy it"}}

    found = judged(asked(action=check))

    assert found["decision"] == "REFUSE"
    assert "changes something outside the worktree" in found["/action/check"]


@pytest.mark.parametrize(("path", "asked"), [
    ("re.py", True), ("src/typing.py", True), ("pluggy/__init__.py", True),
    ("tests/runpy.py", True),
    ("src/shop/types.py", False), ("recipes.py", False), ("re.md", False), ("iniconfig.py", True),
])
def test_a_new_file_that_takes_the_place_of_a_module_is_asked_about(
        path: str, asked: bool) -> None:
    assert Policy().protects(path, ()) is asked


@pytest.mark.parametrize(("path", "asked"), [
    ("tests/__init__.py", True), ("tests/calc.py", True), ("tests/test_calc/__init__.py", True),
    ("tests/test_calc/test_more.py", True), ("test/calc.js", True),
    ("tests/test_more.py", False), ("tests/more_test.py", False),
    ("tests/unit/test_calc.py", False),
    ("tests/data/cases.json", False), ("tests/helpers.py", False), ("src/calc2/__init__.py", False),
    ("docs/adr/0007-csv.md", True), ("lib/thing.pyc", True), ("x.dist-info/entry_points.txt", True),
])
def test_a_new_file_that_would_change_what_the_tests_are_is_asked_about(
        path: str, asked: bool) -> None:
    policy = Policy(protected_paths=("tests/**", "test/**"))

    assert policy.protects(path, {"calc.py", "calc.js", "tests/test_calc.py"}) is asked
