"""The ninth gate, and what the action policy asks a person about."""

from dataclasses import replace
from typing import Any

import pytest

from controller.core.canonical import JsonObject
from controller.core.facts import Added, Pending
from controller.core.policy import Networked, Policy
from controller.core.rules import Rules
from controller.core.tier import Tier
from controller.testing.world import DEPLOY, rules
from tests.core.test_gates import asked, judged

COMMIT: JsonObject = {"kind": "commit", "message": "Change it"}
TOKEN = "ghp_" + "a" * 36


def write(path: str, content: str) -> JsonObject:
    return {"kind": "edit", "changes": [{"op": "write", "path": path, "content": content}]}


def policy(**changes: Any) -> Rules:
    return rules(policy=replace(Policy(external=(DEPLOY,), protected_paths=("tests/**",)),
                                **changes))


@pytest.mark.parametrize(("path", "content", "about"), [
    ("a.py", "if x != 'user\u202e \u2066':", "invisible characters (U+202E, U+2066)"),
    ("a.md", "zero\u200bwidth", "U+200B"), ("a.txt", "tag\U000e0041", "U+E0041"),
    ("a.py", "\u0430dmin = 1", "letters that look like others"),
    ("a.py", "import _pytest.reports as R", "test internals"),
    ("a.py", "def pytest_runtest_makereport(item): ...", "test internals"),
    ("a.py", "import os\nos._exit(0)", "exit hooks"), ("a.py", "atexit.register(f)", "exit hooks"),
    ("a.py", "sys.modules['x'] = y", "loaded modules"),
    ("a.py", "'PYTEST_CURRENT_TEST' in os.environ", "signs of a test run"),
    ("a.ts", "if (process.env.NODE_ENV === 'test') {}", "signs of a test run"),
    ("a.js", "if (process.env.CI) {}", "signs of a test run"),
    ("a.py", "class E(int):\n    def __eq__(s, o): return True\n", "equality overridden"),
    ("a.py", "    def __eq__(self, other: object) -> bool:\n        return True\n",
     "equality overridden"), ("a.py", "__eq__ = lambda s, o: 1", "equality overridden"),
])
def test_what_hides_or_knows_of_its_tests_is_shown_to_a_person(
        path: str, content: str, about: str) -> None:
    edited = judged(asked(write(path, content)), policy())
    lines = tuple(Added(path, number, text) for number, text in enumerate(content.split("\n"), 1))
    held = judged(asked(COMMIT), policy(), added=lines)
    agreed = judged(asked(COMMIT), policy(), added=lines, agreed=frozenset({path}))

    assert (edited.pop("decision"), held.pop("decision")) == ("CONFIRM", "CONFIRM")
    assert about in " ".join(edited.values())
    assert about in " ".join(held.values())
    assert f"{path}:" in " ".join(held.values())
    assert agreed == {"decision": "ALLOW"}


@pytest.mark.parametrize(("path", "content"), [
    ("he.json", '{"hello": "שלום", "name": "Zoë"}'), ("a.py", "# привет, мир"),
    ("a.py", "σ_max = Δx * μs"), ("a.md", "👩\u200d💻 works"), ("a.py", "def __eq__(self, o):\n"
     "    return self.x == o.x\n"), ("tests/test_new.py", "import pytest, unittest"),
    ("notes.md", "os._exit and PYTEST_CURRENT_TEST"), ("a.py", "return eq is True"),
    ("a.py", "CIRCLE = environ['CIRCLE']"), ("a.py", "x = 'atexitx'"),
])
def test_ordinary_text_needs_no_person(path: str, content: str) -> None:
    assert judged(asked(write(path, content)), policy()) == {"decision": "ALLOW"}


def test_a_secret_in_an_added_line_is_refused_by_rule_and_line_and_never_shown() -> None:
    found = judged(asked(COMMIT), policy(), added=(Added("a.py", 3, f"t = '{TOKEN}'"),),
                   agreed=frozenset({"a.py"}))

    assert found == {"/action": "a.py:3 looks like a secret (github token); take it out",
                     "decision": "REFUSE"}


@pytest.mark.parametrize("path", [
    "AGENTS.md", "pkg/CLAUDE.md", ".cursor/rules/x.mdc", ".mcp.json", "CODEOWNERS", ".envrc",
    ".vscode/tasks.json", ".husky/pre-commit", ".pre-commit-config.yaml", ".github/workflows/x.yml",
    "conftest.py", "noxfile.py", "vite.config.ts", "setup.py", "tox.toml", "x.pth", "Cargo.toml",
    "package-lock.json", "poetry.lock", "go.sum", ".gitattributes", ".gitmodules", ".gitignore",
    "sub/Makefile", ".devcontainer/devcontainer.json", "tests/test_old.py"])
def test_sensitive_files_need_a_person(path: str) -> None:
    old = frozenset({path})

    assert judged(asked(write(path, "")), policy(), base_paths=old)["decision"] == "CONFIRM"
    assert judged(asked(COMMIT), policy(), base_paths=old, changed=old)["decision"] == "CONFIRM"
    assert judged(asked(COMMIT), policy(), base_paths=old, changed=old, agreed=old) == {
        "decision": "ALLOW"}


@pytest.mark.parametrize(("facts", "about"), [
    ({"pending": tuple(Pending(f"f{n}", "100644", "100644") for n in range(51))}, "51 files"),
    ({"pending": tuple(Pending(f"f{n}", "100644", "000000") for n in range(11))}, "11 files are"),
    ({"added": tuple(Added("a", n, "x" * 1000) for n in range(1100))}, "more than 1 MiB"),
    ({"uncounted": True}, "more than 1 MiB"),
    ({"pending": (Pending("l", "000000", "120000"),)}, "l is a symbolic link"),
    ({"pending": (Pending("s", "000000", "160000"),)}, "s is a repository of its own"),
    ({"pending": (Pending("run.sh", "100644", "100755"),)}, "run.sh is made executable"),
    ({"pending": (Pending("\u0430dmin.py", "000000", "100644"),)}, "look like others"),
    ({"pending": (Pending("a\nb", "000000", "100644"),)}, "must not contain control characters"),
    ({"pending": (Pending("aux.c", "000000", "100644"),)}, "Windows keeps for itself"),
    ({"pending": (Pending("readme.md", "000000", "100644"),),
      "base_paths": frozenset({"README.md"})}, "is the same file as 'README.md'"),
], ids=["files", "removed", "bytes", "uncounted", "link", "nested", "program", "name", "control",
        "device", "twin"])
def test_a_mass_and_odd_kinds_of_files_need_a_person(facts: Any, about: str) -> None:
    found = judged(asked(COMMIT), policy(), **facts)

    assert found["decision"] == "CONFIRM"
    assert about in " ".join(found.values())


@pytest.mark.parametrize("facts", [
    {"pending": tuple(Pending(f"f{n}", "100644", "100644") for n in range(50))},
    {"pending": tuple(Pending(f"f{n}", "100644", "000000") for n in range(10))},
    {"pending": tuple(Pending(f"f{n}", "100644", "000000") for n in range(40)),
     "base_paths": frozenset(f"f{n}" for n in range(200))},
    {"pending": (Pending("run.sh", "100755", "100755"),)},
], ids=["files", "removed", "share", "program-already"])
def test_less_is_no_mass(facts: Any) -> None:
    assert judged(asked(COMMIT), policy(), **facts) == {"decision": "ALLOW"}


@pytest.mark.parametrize("message", [
    "fix\n\n[skip ci]", "fix [ci skip]", "x\n\nSigned-off-by: A <a@b>", "x\n\nCo-authored-by: A",
    "fixes #12", "closes org/repo#3", "x\n\nOneshot-Run: other", "skip-checks: true"])
def test_a_message_gives_no_orders_and_no_signatures(message: str) -> None:
    assert judged(asked({"kind": "commit", "message": message}))["decision"] == "REFUSE"


@pytest.mark.parametrize("message", ["Count ticket 12", "Skip CI-only files", "Close the file"])
def test_ordinary_words_are_no_orders(message: str) -> None:
    assert judged(asked({"kind": "commit", "message": message})) == {"decision": "ALLOW"}


def run(line: str, **more: Any) -> JsonObject:
    return {"kind": "run", "shell": line, **more}


NETWORK = Networked(("registry.example",), ("npm ci",))


@pytest.mark.parametrize(("action", "network", "facts", "decision"), [
    (run("npm install x", network=True), Networked(), {}, "REFUSE"),
    (run("npm install x", network=True), NETWORK, {}, "CONFIRM"),
    (run("npm ci", network=True), NETWORK, {}, "ALLOW"),
    (run("npm ci", network=True), NETWORK, {"exposed": True}, "CONFIRM"),
    (run("npm ci", network=True), NETWORK, {"tier": Tier.LANDLOCK}, "CONFIRM"),
    (run("npm ci"), Networked(), {}, "ALLOW"),
    (run("deploy it"), NETWORK, {}, "ALLOW"),
    (run("deploy it"), NETWORK, {"exposed": True}, "CONFIRM"),
    (run("deploy it"), NETWORK, {"tier": Tier.LANDLOCK}, "CONFIRM"),
    (run("true"), NETWORK, {"exposed": True, "tier": Tier.LANDLOCK}, "ALLOW"),
], ids=["no-hosts", "asked", "granted", "exposed", "tier-2", "without", "external",
        "external-exposed", "external-tier-2", "ordinary"])
def test_what_reaches_beyond_the_worktree_is_the_users_word(
        action: JsonObject, network: Networked, facts: Any, decision: str) -> None:
    assert judged(asked(action), policy(network=network), **facts)["decision"] == decision


@pytest.mark.parametrize("path", [
    ".GIT/config", "git~1/config", ".g\u200cit/config", ".git /config", ".git./config",
    ".git::$INDEX_ALLOCATION/config", "a/.Git/x", ".Agent-Contract/policy.yaml", "-n", "a/-rf",
    "x\x7f", "a\u0085b", "a\u202eb", "a\u00adb", "aux.c", "sub/NUL", "a:b", "what?", "trailing.",
    "trailing ", "\ufeffa"])
def test_a_path_that_is_another_somewhere_is_refused(path: str) -> None:
    assert judged(asked(write(path, "")))["decision"] == "REFUSE"


@pytest.mark.parametrize(("paths", "there"), [
    (["readme.md"], "README.md"), (["cafe\u0301.py"], "caf\u00e9.py"), (["a.py", "A.py"], "x"),
    (["SRC/a.py"], "src/a.py")])
def test_two_names_of_one_file_are_refused(paths: list[str], there: str) -> None:
    action: JsonObject = {"kind": "edit", "changes": [
        {"op": "write", "path": path, "content": ""} for path in paths]}

    found = judged(asked(action), base_paths=frozenset({there}))

    assert found["decision"] == "REFUSE"
    assert "on many systems" in found["/action/changes"]


@pytest.mark.parametrize("path", [".GIT/config", "a/.git /x", "git~1/x", ".Agent-Contract/x"])
def test_no_git_commit_holds_what_no_edit_may_name(path: str) -> None:
    found = judged(asked(COMMIT), changed=frozenset({path}))

    assert found["decision"] == "REFUSE"


def test_an_old_file_with_an_odd_name_can_be_changed() -> None:
    assert judged(asked(write("drivers/aux.c", "")), base_paths=frozenset({"drivers/aux.c"})) == {
        "decision": "ALLOW"}
