"""Ways out that somebody once found: each of these got something out, or past a person."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from controller.core.errors import SetupError
from controller.core.policy import Policy
from controller.prompts import waits
from controller.sandbox.profile import Mount
from controller.sandbox.toolchain import toolchain
from tests.cli.conftest import Shop

Git = Callable[..., str]
SECRET = "abcdef-4711-xyz-0815"
COMMIT = {"action": {"kind": "commit", "message": "Change it"}}


def run(line: str) -> dict[str, object]:
    return {"action": {"kind": "run", "shell": line}}


def edit(path: str, content: str) -> dict[str, object]:
    return {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": path, "content": content}]}}


def record_of(shop: Shop) -> str:
    """Everything that was written of the runs, but what commands left in the worktree."""
    files = [path for path in (shop.repo / ".agent-runtime").rglob("*")
             if path.is_file() and "repo.git" not in str(path)]
    return "".join(path.read_bytes().decode("latin-1") for path in files)


@pytest.fixture
def holding(quick: Shop, git: Git) -> Shop:
    """A project whose commands find a secret of the user's."""
    quick.contract("policy.yaml", "environment: {pass: [HELD]}\n")
    git(quick.repo, "commit", "-qam", "pass it on")
    return replace(quick, env={**quick.env, "HELD": SECRET})


@pytest.mark.parametrize("line", [
    "printf '\\0\\n%s' $HELD > data.bin", "touch n-$HELD.txt",
    "echo ${HELD:0:10} > t.txt; echo ${HELD:10} >> t.txt",
    "echo $HELD | iconv -t UTF-16 > t.txt", "head -c 5000000 /dev/zero | tr '\\0' x > t.txt; "
    "echo $HELD >> t.txt", "echo $HELD | base64 > t.txt",
], ids=["binary", "name", "two-lines", "utf-16", "long", "base64"])
def test_a_held_secret_leaves_in_no_file_of_a_git_commit(
        holding: Shop, git: Git, line: str) -> None:
    ran = holding.oneshot("run", "--steps", "2", "--cassette", str(holding.replies(
        run(f"bash -c \"{line}\"" if "${" not in line else f"bash -c '{line}'"), COMMIT)))

    assert "has a held secret" in ran.err or ran.code == 8, ran.err  # a mass is asked about
    assert git(holding.repo, "branch", "--list", "oneshot/*") == ""
    assert SECRET not in record_of(holding) + ran.err


@pytest.mark.parametrize("reply", [
    {"action": {"kind": "commit", "message": f"It is {SECRET}"}},
    {"action": {"kind": "ask", "question": f"Is it {SECRET}?"}},
    {"action": {"kind": "finish", "result": "impossible", "summary": SECRET[::-1]}},
    {"action": {"kind": "read", "files": [{"path": "README.md"}]},
     "state_patch": {"facts": {"a": {"text": SECRET}}}},
], ids=["message", "question", "summary", "state"])
def test_a_held_secret_is_refused_in_a_models_own_words(
        holding: Shop, reply: dict[str, object]) -> None:
    ran = holding.oneshot("run", "--steps", "1", "--cassette", str(holding.replies(reply)))

    assert "looks like a secret (held secret)" in ran.err
    assert SECRET not in ran.err


def test_a_held_secret_is_in_no_objection_of_a_gate(holding: Shop) -> None:
    line = 'mkdir -p src; echo \\"sys.modules[\'$HELD\']\\" > src/m.py; touch a-$HELD.lock'

    ran = holding.oneshot("run", "--cassette", str(holding.replies(
        run(f'bash -c "{line}"'), COMMIT)))

    assert ran.code == 8, ran.err
    assert "loaded modules" in ran.err
    assert SECRET not in record_of(holding) + ran.err


def test_what_a_command_prints_does_not_make_it_one_that_never_ran(
        quick: Shop, git: Git, tmp_path: Path) -> None:
    """An external command that says so itself is doubtful, and is not done again unasked."""
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    for number, text in enumerate(("oneshot: can't execute it", "prlimit: failed to execute x")):
        line = f"echo {number} >> {outside}/log; echo \"{text}\"; exit 127"
        quick.contract("policy.yaml", "external: [" + json.dumps(
            {"run": line, "writes": [str(outside)]}) + "]\n")
        git(quick.repo, "commit", "-qam", "external", "--allow-empty")

        ran = quick.oneshot("run", "--steps", "1", "--cassette", str(quick.replies(run(line))))

        assert ran.code in (3, 8), ran.err
        assert "failed" not in ran.err
    assert (outside / "log").read_text() == "0\n1\n"


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_a_command_that_speaks_like_the_sandbox_stops_nothing(quick: Shop, tier: str) -> None:
    line = "echo \"can't confine x\"; echo \"oneshot: can't confine x\"; exit 125"

    ran = quick.oneshot("run", "--steps", "1", "--sandbox", tier, "--cassette",
                        str(quick.replies(run(line))))

    assert ran.code == 3, ran.err
    assert "exit 125" in ran.err


@pytest.mark.parametrize(("link", "target"), [
    (".venv/bin/python", "../../../home/.ssh/x/python"), ("node_modules", "../.."),
    ("tools", "../home")])
def test_no_link_of_a_repository_mounts_what_lies_elsewhere(
        tmp_path: Path, link: str, target: str) -> None:
    checkout, home = tmp_path / "user/repo", tmp_path / "user/home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".bin").mkdir()
    (checkout / link).parent.mkdir(parents=True)
    (checkout / link).symlink_to(target)
    (tmp_path / ".bin").mkdir()
    if ".venv" in link:
        (checkout / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    path = {"node_modules": "node_modules/.bin", "tools": "tools"}.get(link, ".venv/bin")

    mounts: tuple[Mount, ...] = ()
    with suppress(SetupError):
        mounts = toolchain([checkout / path], (), checkout, private=(home, checkout)).mounts

    assert [mount for mount in mounts if home.is_relative_to(mount.source)
            or mount.source.is_relative_to(home)] == []


@pytest.mark.parametrize("place", ["/", "home", "home/.."])
def test_a_folder_that_holds_the_home_folder_is_not_mounted(tmp_path: Path, place: str) -> None:
    (tmp_path / "home").mkdir()

    with pytest.raises(SetupError, match="name what is needed of it"):
        toolchain((), [tmp_path / place], None, private=(tmp_path / "home",))


@pytest.mark.parametrize("path", [
    "agents.md", "MAKEFILE", "Conftest.py", "sub/.vscode/settings.json", ".Cursor/rules/x",
    "pkg/.github/workflows/x.yml", "deep/er/.claude/settings.json"])
def test_sensitive_is_sensitive_in_any_folder_and_any_case(path: str) -> None:
    assert Policy().protects(path, ())


def test_an_agreement_is_over_when_a_person_agrees_to_something_else(
        quick: Shop, git: Git) -> None:
    one, two = edit("AGENTS.md", "one\n"), edit("AGENTS.md", "two\n")
    cassette = str(quick.replies(one, two, run("echo one > AGENTS.md"), COMMIT))
    quick.oneshot("run", "--cassette", cassette)
    for asked in ("c1", "c2"):
        assert quick.oneshot("approve", asked).code == 0
        last = quick.oneshot("resume", "--cassette", cassette)

    assert last.code == 8, last.err
    assert "AGENTS.md is protected" in last.err


def test_the_worktree_is_nobody_elses_to_read(quick: Shop) -> None:
    quick.oneshot("run", "--steps", "1", "--cassette", str(quick.replies(run("true"))))

    assert quick.worktree.stat().st_mode & 0o077 == 0
    scratch = quick.worktree.with_name("scratch")
    assert [path.name for path in scratch.iterdir() if path.is_file()] == []


@pytest.mark.parametrize("text", [
    "Testing login:\n", "Is this ok for all platforms\n", "password: changed\n", "done\n", "x: 1",
    "collecting ... ", "Overwrite? [y/N] y\nok\n"])
@pytest.mark.parametrize("tty", [False, True])
def test_a_line_that_is_finished_waits_for_nobody(text: str, tty: bool) -> None:
    assert waits(text.encode(), tty=tty) == ""


def test_a_folder_too_deep_for_the_system_stops_no_later_command(quick: Shop) -> None:
    deep = ("python3 -c \"import os\nos.mkdir('node_modules'); os.chdir('node_modules')\n"
            "for n in range(60):\n  os.mkdir('d' * 100); os.chdir('d' * 100)\"; chmod 000 .")

    ran = quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        run(deep), run("rm -rf node_modules; echo gone"))))

    assert ran.code == 3, ran.err
    assert ran.err.count("→ exit 0") == 2, ran.err
