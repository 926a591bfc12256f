"""What commands find of a project's tools: installed once, mounted read-only, never the user's."""

import json
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Shop

RUN = {"action": {"kind": "run", "shell": "echo hi"}}
FINISH = {"action": {"kind": "finish", "result": "done", "summary": "x"}}


def goal(check: str) -> str:
    return ("goal: Use the tools.\nsuccess_criteria:\n  works: {check: {shell: "
            + json.dumps(check) + "}}\n")


def edit(path: str, content: str) -> dict[str, object]:
    return {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": path, "content": content}]}}


COMMIT = {"action": {"kind": "commit", "message": "Change it"}}


def committed(shop: Shop, git: Callable[..., str]) -> None:
    git(shop.repo, "add", "-A")
    git(shop.repo, "commit", "-q", "-m", "prepared")


def test_a_python_project_with_a_virtual_environment_works(
        shop: Shop, git: Callable[..., str]) -> None:
    """Also one that is installed from the checkout: it finds the run's files there."""
    venv.create(shop.repo / ".venv", symlinks=True, with_pip=False)
    (site,) = (shop.repo / ".venv/lib").glob("python3.*/site-packages")
    (site / "own.pth").write_text(f"{shop.repo}/src\n")  # as an editable installation writes it
    (site / "installed.py").write_text("x = 1\n")
    (shop.repo / ".gitignore").write_text(".venv/\n")
    shop.contract("policy.yaml", "environment: {path: [.venv/bin]}\n")
    shop.contract("intent-contract.yaml", goal(
        "cd /; python -c 'import installed, basket; assert basket.NEW == 1'"))
    committed(shop, git)

    ran = shop.oneshot("run", "--cassette", str(shop.replies(
        {"action": {"kind": "run", "shell": "python -c 'import sys; print(sys.prefix)'; "
                    "touch $(dirname $(which python))/x"}},
        edit("src/basket/__init__.py", "NEW = 1\n"), COMMIT, FINISH)))

    assert ran.code == 0, ran.err
    shown = shop.oneshot("show", "1").out
    assert f"{shop.repo}/.venv" in shown
    assert "Read-only file system" in shown
    assert not (shop.repo / ".venv/bin/x").exists()


def test_a_node_project_with_node_modules_works(shop: Shop, git: Callable[..., str]) -> None:
    """Modules are found by climbing, as `require` and as `import`; programs are on PATH."""
    made = shop.repo / "node_modules"
    (made / "greet").mkdir(parents=True)
    (made / "greet/package.json").write_text('{"name": "greet", "main": "index.js"}')
    (made / "greet/index.js").write_text("module.exports = () => 'hello'\n")
    (made / ".bin").mkdir()
    (made / ".bin/greet").write_text("#!/usr/bin/env node\nconsole.log(require('greet')())\n")
    (made / ".bin/greet").chmod(0o755)
    (shop.repo / ".gitignore").write_text("node_modules/\n")
    (shop.repo / "main.mjs").write_text("import('./src/two.mjs')\n")
    (shop.repo / "src/two.mjs").write_text("import greet from 'greet'; console.log(greet())\n")
    shop.contract("policy.yaml", "environment: {path: [node_modules/.bin]}\n")
    shop.contract("intent-contract.yaml", goal("test $(node main.mjs) = hello2 && greet"))
    committed(shop, git)

    ran = shop.oneshot("run", "--cassette", str(shop.replies(
        {"action": {"kind": "run", "shell": "node main.mjs; greet; "
                    "node -e 'console.log(require(\"greet\")())'"}},
        edit("src/two.mjs", "import greet from 'greet'; console.log(greet() + 2)\n"), COMMIT,
        FINISH)))

    assert ran.code == 0, ran.err
    assert shop.oneshot("show", "1").out.count("hello") >= 3


@pytest.fixture
def set_up(shop: Shop, git: Callable[..., str]) -> Shop:
    """A project whose set-up makes a program from a lockfile, and counts how often it did."""
    shop.contract("policy.yaml", """\
environment:
  path: [$ONESHOT_ENV/bin]
  setup:
    from: [tools.lock]
    run:
      - mkdir $ONESHOT_ENV/bin && date +%N > $ONESHOT_ENV/when
      - (echo '#!/bin/sh'; echo "cat $ONESHOT_ENV/when") > $ONESHOT_ENV/bin/when
      - chmod +x $ONESHOT_ENV/bin/when; test -s tools.lock || { echo no tools; exit 3; }
""")
    shop.contract("intent-contract.yaml", goal("when; false"))
    (shop.repo / "tools.lock").write_text("one\n")
    committed(shop, git)
    return shop


def seen(shop: Shop) -> str:
    ran = shop.oneshot("run", "--steps", "1", "--cassette", str(shop.replies(
        {"action": {"kind": "run", "shell": "when; touch $(which when)"}})))
    assert ran.code == 3, ran.err
    (number,) = re.findall(r"\b[0-9]{9}\b", shop.oneshot("show", "1").out)
    return str(number)


def test_a_set_up_is_done_once_for_each_content_of_its_lockfiles(
        set_up: Shop, git: Callable[..., str]) -> None:
    first, second = seen(set_up), seen(set_up)
    (set_up.repo / "tools.lock").write_text("two\n")
    committed(set_up, git)
    third = seen(set_up)

    assert (first == second, first == third) == (True, False)


def test_a_set_up_that_fails_says_so_and_is_begun_anew(
        set_up: Shop, git: Callable[..., str]) -> None:
    (set_up.repo / "tools.lock").write_text("")
    committed(set_up, git)

    failed = [set_up.oneshot("run", "--cassette", str(set_up.replies(RUN))) for _ in range(2)]

    assert [ran.code for ran in failed] == [2, 2], failed[1].err
    assert "the set-up command of policy.yaml failed" in failed[1].err
    assert failed[1].err.rstrip().endswith("no tools")


def test_the_value_of_a_variable_that_is_passed_on_is_redacted_everywhere(
        quick: Shop, git: Callable[..., str]) -> None:
    quick.contract("policy.yaml", "environment: {pass: [LICENSE_KEY]}\n")
    committed(quick, git)

    ran = quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": "echo $LICENSE_KEY; echo $LICENSE_KEY | base64; env"}},
        {"action": {"kind": "run", "shell": "echo $LICENSE_KEY > key.txt"}})),
        LICENSE_KEY="abcdef-4711-xyz")

    shown = quick.oneshot("show", "1").out
    assert ran.code == 3, ran.err
    assert "[redacted: held secret]" in shown
    record = subprocess.run(["grep", "-rl", "abcdef-4711", str(quick.repo / ".agent-runtime")],
                            capture_output=True, text=True, check=False).stdout
    assert record == ""


def test_a_held_secret_leaves_in_no_git_commit(quick: Shop, git: Callable[..., str]) -> None:
    quick.contract("policy.yaml", "environment: {pass: [LICENSE_KEY]}\n")
    committed(quick, git)

    ran = quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": "echo $LICENSE_KEY | rev > key.txt"}}, COMMIT)),
        LICENSE_KEY="abcdef-4711-xyz")

    assert "failed: key.txt has a held secret; take it out" in ran.err
    assert git(quick.repo, "branch", "--list", "oneshot/*") == ""


@pytest.mark.parametrize(("files", "says"), [
    (("pyproject.toml", ".venv/bin/"), '[".venv/bin"'),
    (("package.json", "node_modules/.bin/"), '["node_modules/.bin"'),
    (("requirements.txt",), "$ONESHOT_ENV/venv/bin/pip install -r requirements.txt"),
    (("package.json", "package-lock.json"), "npm ci --ignore-scripts --prefix $ONESHOT_ENV"),
    (("uv.lock",), "uv sync --frozen"),
], ids=["venv", "node_modules", "requirements", "npm", "uv"])
def test_init_proposes_what_the_repository_shows(
        tmp_path: Path, git: Callable[..., str], shop: Shop, files: tuple[str, ...],
        says: str) -> None:
    repo = tmp_path / "new"
    for name in files:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).mkdir() if name.endswith("/") else (repo / name).write_text("{}\n")
    git(repo, "init", "-q")
    fresh = Shop(repo, shop.env)

    made = fresh.oneshot("init")

    assert made.code == 0, made.err
    assert says in (repo / ".agent-contract/policy.yaml").read_text()
    valid = fresh.oneshot("validate")
    assert "policy" not in valid.err, valid.err


def test_a_run_without_any_sandbox_needs_a_flag_and_says_so(quick: Shop) -> None:
    cassette = str(quick.replies(RUN))

    said = quick.oneshot("run", "--steps", "1", "--i-accept-no-sandbox", "--cassette", cassette)

    assert said.code == 3
    assert "note: commands run in tier 0, no sandbox: as you asked" in said.err
    assert json.loads(quick.oneshot("log", "--json").out.splitlines()[-1])["outcome"]["tier"] == 0


@pytest.mark.parametrize(("flag", "tier"), [("bubblewrap", 1), ("landlock", 2), ("external", 3)])
def test_the_tier_is_in_every_record_of_a_step_and_of_evidence(
        quick: Shop, git: Callable[..., str], flag: str, tier: int) -> None:
    quick.contract("intent-contract.yaml", goal("test -e hello.txt"))
    committed(quick, git)

    quick.oneshot("run", "--sandbox", flag, "--cassette", str(quick.replies(
        RUN, edit("hello.txt", "x\n"), COMMIT, FINISH)))

    records = [json.loads(text) for text in quick.oneshot("log", "--json").out.splitlines()]
    steps = [record for record in records if record["kind"] == "committed"]
    assert [record["outcome"]["tier"] for record in steps] == [tier] * 4
    assert {item["tier"] for item in steps[-1]["evidence"] if item["authority"] == "ci"} == {tier}
    report = (quick.repo / ".agent-runtime/runs").glob("*/report.html")
    assert f"sandbox tier {tier}" in next(report).read_text()


def test_no_sandbox_means_that_nothing_is_run(quick: Shop, tmp_path: Path) -> None:
    """A machine with neither: bwrap is not there, and Landlock is not asked for."""
    empty = tmp_path / "empty"
    empty.mkdir()
    line = ("import controller.sandbox.choice as c; "
            "c._TRIED = {c.Tier.BUBBLEWRAP: lambda: 'gone'}; "
            "import sys; from controller.cli import main; sys.argv[0] = 'oneshot'; main()")
    said = subprocess.run(
        [sys.executable, "-P", "-c", line, "run", "--cassette", str(quick.replies(RUN))],
        cwd=quick.repo, env=quick.env, capture_output=True, text=True, check=False)

    assert said.returncode == 11
    assert "No sandbox can be built here, so nothing was run." in said.stderr
    assert "apt install bubblewrap" in said.stderr
    assert "Traceback" not in said.stderr
