"""Push, checks, a failure with its log, a fix, a pull request, a comment: each once, whatever dies.

The forge is a stand-in on loopback with the real shapes, the remote a real Git daemon with a
protected branch, the controller the real command.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.process import capture
from controller.testing.script import write_cassette
from tests.conftest import Git
from tests.forge.records import Suite
from tests.forge.remote import protected_remote, pushes
from tests.forge.server import Forge, lost_write, reset, serving
from tests.forge.wire import Fault, rate_limited

ROOT = Path(__file__).parents[2]
START = (f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
         "from tests.forge.mortal import main; main()")

CONTRACT = """\
goal: Say hello in good English.
success_criteria:
  hello: {check: {file: hello.txt}}
  build: {check: {ci: build}}
"""

POLICY = """\
forge: {push: granted, pull_request: granted, comment: granted, trust: [logs, issue]}
"""

LOG = "hello.txt:1: expected 'hello', got 'helo'"


@dataclass
class HostedCI(Forge):
    """A forge whose CI looks at what was pushed: at first nothing, then queued, then a verdict."""

    folder: Path = field(default_factory=Path)
    asked: dict[str, int] = field(default_factory=dict)

    def suites(self, sha: str = "") -> list[Suite]:
        if sha:
            self.asked[sha] = self.asked.get(sha, 0) + 1
            if self.asked[sha] == 4:
                self.check(sha, "build", "queued")
            if self.asked[sha] == 5:
                good = "hello" in self.text(sha)
                self.check(sha, "build", "completed", "success" if good else "failure",
                           log="" if good else LOG)
        return super().suites(sha)

    def text(self, sha: str) -> str:
        said = capture(("git", "show", f"{sha}:hello.txt"), cwd=self.folder / "remote.git",
                       env={"PATH": os.environ["PATH"], "GIT_DIR": "."})
        return said.stdout.decode()

    def at(self, branch: str) -> str:
        said = capture(("git", "rev-parse", "--verify", f"refs/heads/{branch}"),
                       cwd=self.folder / "remote.git",
                       env={"PATH": os.environ["PATH"], "GIT_DIR": "."})
        if said.exit:
            raise KeyError(branch)
        return said.stdout.decode().strip()


@dataclass(frozen=True, slots=True)
class Harbour:
    """A repository with its forge, and `oneshot` in it."""

    folder: Path
    forge: HostedCI
    passed: Path

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    def tells(self, *actions: dict[str, Any], later: int = 0) -> None:
        """Let the model ask for these; `later`: steps of the controller's own after the second."""
        write_cassette(self.folder / "cassette.jsonl", (
            {"expected_version": number + (later if number > 1 else 0), "action": action}
            for number, action in enumerate(actions)))

    def oneshot(self, *args: str, die_at: int = -1) -> tuple[int, str]:
        said = capture(
            [sys.executable, "-P", "-c", START, str(die_at), str(self.passed), *args],
            cwd=self.repo, timeout=240, env={
                "PATH": os.environ["PATH"], "HOME": str(self.folder / "home"),
                "XDG_CACHE_HOME": str(self.folder / "cache"), "LC_ALL": "C.UTF-8",
                "FORGE_TOKEN": self.forge.token})
        return said.exit, said.stdout.decode() + said.stderr.decode()

    def start(self, die_at: int = -1) -> tuple[int, str]:
        return self.oneshot("run", "--quiet", "--cassette", str(self.folder / "cassette.jsonl"),
                            die_at=die_at)

    def resume(self) -> tuple[int, str]:
        return self.oneshot("resume", "--quiet", "--cassette", str(self.folder / "cassette.jsonl"))

    def audit(self) -> list[dict[str, Any]]:
        (place,) = (self.repo / ".agent-runtime/runs").glob("*/audit.jsonl")
        return [json.loads(line) for line in place.read_text().splitlines()]

    @property
    def outside(self) -> tuple[int, int, int]:
        """How many branches were pushed, pull requests opened, comments written."""
        branches = {line.split()[2] for line in pushes(self.folder)}
        return len(branches), len(self.forge.pulls), len(self.forge.comments)


@pytest.fixture
def harbour(tmp_path: Path, git: Git) -> Iterator[Harbour]:
    repo = tmp_path / "repo"
    (repo / ".agent-contract").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (repo / "README").write_text("hi\n")
    (repo / ".agent-contract/intent-contract.yaml").write_text(CONTRACT)
    (repo / ".agent-contract/policy.yaml").write_text(POLICY)
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "base")
    forge = HostedCI(folder=tmp_path)
    forge.sha_of = forge.at
    forge.issue(7, "Greet people", "Say hello.")
    with protected_remote(tmp_path, repo) as remote, serving(forge) as address:
        (repo / ".agent-contract/config.yaml").write_text(
            "model: {adapter: scripted}\nlimits: {steps: 100}\n"
            f"forge: {{kind: github, repo: octo/demo, settle: 0, "
            f"api: '{address}', remote: '{remote}', token: $FORGE_TOKEN, issue: 7}}\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "config")
        yield Harbour(tmp_path, forge, tmp_path / "passed")


def write(text: str, was: str | None = None) -> dict[str, Any]:
    change = ({"op": "write", "path": "hello.txt", "content": text} if was is None else
              {"op": "replace", "path": "hello.txt", "old": was, "new": text})
    return {"kind": "edit", "changes": [change]}


PULL = {"kind": "pull_request", "title": "Say hello", "body": "As asked."}
COMMIT = {"kind": "commit", "message": "Say hello"}
PUSH = {"kind": "push"}
WAIT = {"kind": "wait", "seconds": 600, "until": "checks"}
COMMENT = {"kind": "comment", "body": "It says hello now.", "on": "pull_request"}
DONE = {"kind": "finish", "result": "done", "summary": "It says hello."}


def test_a_change_goes_from_push_over_a_failure_and_its_log_to_a_proved_pull_request(
        harbour: Harbour) -> None:
    harbour.tells(write("helo\n"), COMMIT, PUSH, DONE, WAIT, write("hello\n", "helo\n"), COMMIT,
                  PUSH, PULL, COMMENT, WAIT, DONE)

    code, said = harbour.start()

    assert code == 0, said + harbour.oneshot("log")[1] + harbour.oneshot("show", "3")[1]
    steps = [record for record in harbour.audit() if record["kind"] == "committed"]
    early, waited = steps[3]["observation"], steps[4]["observation"]
    assert "nothing is reported yet, which is not green" in early
    assert "- build: failure" in waited
    assert LOG in waited
    assert harbour.outside == (1, 1, 1)
    (pull,) = harbour.forge.pulls
    (head,) = {line.split()[1] for line in pushes(harbour.folder)[-1:]}
    assert (pull.sha, pull.title) == (head, "Say hello")
    (place,) = (harbour.repo / ".agent-runtime/runs").glob("*/state.json")
    state = json.loads(place.read_text())["state"]
    assert state["delivery"] == {
        "production_authority_executed": True, "branch": pull.branch, "pushed": head,
        "pull_request": state["delivery"]["pull_request"]}
    assert state["hosted_ci"]["checks"] == {"build": "success"}


SHORT = (write("hello\n"), COMMIT, PUSH, PULL, COMMENT, {**PULL, "body": "As asked, twice."}, WAIT,
         DONE)


TOUCHING = ("begin", "perform", "examine", "attest", "find", "commit")
"""The calls between which something may have happened outside and not be on record."""


@pytest.mark.parametrize("part", range(3))
def test_dying_at_any_boundary_leaves_one_branch_one_pull_request_and_one_comment(
        harbour: Harbour, git: Git, part: int) -> None:
    """Every boundary about what is seen outside, from the push on; a part of them each time."""
    harbour.tells(*SHORT)
    assert harbour.start()[0] == 0
    names = harbour.passed.read_text().splitlines()
    begun = [number for number, name in enumerate(names) if name == "before begin"]
    boundaries = [number for number, name in enumerate(names)
                  if begun[2] <= number < begun[6] and name.split()[1] in TOUCHING]
    assert len(boundaries) == 4 * 8

    for boundary in boundaries[part::3]:
        _clear(harbour, git)
        code, said = harbour.start(die_at=boundary)
        assert code == -9, said
        code, said = harbour.resume()
        assert code == 0, f"{names[boundary]}: {said}"
        assert harbour.outside == (1, 1, 1), names[boundary]


def _clear(harbour: Harbour, git: Git) -> None:
    """The repository and its forge as they were before any run."""
    shutil.rmtree(harbour.repo / ".agent-runtime")
    shutil.rmtree(harbour.folder / "cache")
    for where in (harbour.repo, harbour.folder / "remote.git"):
        branches = git(where, "for-each-ref", "--format=%(refname)", "refs/heads/oneshot")
        for branch in branches.split():
            git(where, "update-ref", "-d", branch)
    (harbour.folder / "remote.git/pushes").unlink(missing_ok=True)
    harbour.forge._pulls.clear()
    harbour.forge._comments.clear()


@pytest.mark.parametrize("fault", [
    lost_write("POST", "/repos/octo/demo/pulls"),
    lost_write("POST", "/repos/octo/demo/issues/1/comments"),
    lost_write("PATCH", "/repos/octo/demo/pulls"),
    reset("POST", "/repos/octo/demo/pulls"),
], ids=["pull", "comment", "update", "reset"])
def test_a_write_whose_answer_was_lost_is_found_again_and_not_repeated(
        harbour: Harbour, fault: Fault) -> None:
    harbour.forge._issues.clear()  # so that the pull request has the number 1
    config = harbour.repo / ".agent-contract/config.yaml"
    config.write_text(config.read_text().replace(", issue: 7", ""))
    harbour.tells(*SHORT)
    harbour.forge.faults.append(fault)

    code, said = harbour.start()

    assert code == 0, said
    assert harbour.forge.faults == []
    assert harbour.outside == (1, 1, 1)


def test_without_a_grant_a_person_is_asked_about_each(harbour: Harbour) -> None:
    (harbour.repo / ".agent-contract/policy.yaml").write_text("{}\n")
    harbour.tells(*SHORT)

    code, said = harbour.start()
    assert (code, harbour.outside) == (8, (0, 0, 0)), said
    assert "a person must agree to each push" in harbour.oneshot("approvals", "c3")[1]
    harbour.oneshot("approve", "c3")
    code, said = harbour.resume()

    assert (code, harbour.outside) == (8, (1, 0, 0)), said
    assert "a person must agree to each pull request" in harbour.oneshot("approvals", "c4")[1]


def test_an_issue_that_is_edited_while_the_run_goes_on_is_asked_about(harbour: Harbour) -> None:
    harbour.tells(write("hello\n"), {"kind": "wait", "seconds": 120}, COMMIT, PUSH, WAIT, DONE,
                  later=1)
    code, said = harbour.oneshot("run", "--quiet", "--steps", "2", "--cassette",
                                 str(harbour.folder / "cassette.jsonl"))
    assert code == 3, said
    harbour.forge.issue(7, "Greet people", "Say good-bye.")

    code, said = harbour.resume()

    assert code == 8, said
    assert "Drift (issue)" in said
    assert "Say good-bye." in harbour.oneshot("approvals")[1] + said
    told = harbour.oneshot("answer", "q2", "go on")[1]
    code, said = harbour.resume()
    assert code == 0, told + said + harbour.oneshot("log")[1]


def test_what_somebody_else_pushed_is_never_overwritten(harbour: Harbour, git: Git) -> None:
    harbour.tells(write("helo\n"), COMMIT, PUSH, write("hello\n", "helo\n"), COMMIT, PUSH,
                  {"kind": "ask", "question": "What now?"})
    code, said = harbour.oneshot("run", "--quiet", "--steps", "5", "--cassette",
                                 str(harbour.folder / "cassette.jsonl"))
    assert code == 3, said
    bare = harbour.folder / "remote.git"
    (branch,) = git(bare, "for-each-ref", "--format=%(refname)", "refs/heads/oneshot").split()
    theirs = git(bare, "commit-tree", f"{branch}^{{tree}}", "-p", branch, "-m", "mine").strip()
    git(bare, "update-ref", branch, theirs)

    code, said = harbour.resume()

    assert code == 8, said
    assert git(bare, "rev-parse", branch).strip() == theirs
    assert "Drift (remote)" in said


def test_a_rate_limit_is_told_and_the_run_goes_on(harbour: Harbour) -> None:
    harbour.tells(*SHORT)
    limit = rate_limited("GET", "/repos/octo/demo/issues", 2_000_000_000)
    harbour.forge.faults += [limit, limit]  # once at the launch, once at the first step

    code, said = harbour.start()

    assert code == 0, said
    prompt = harbour.oneshot("show", "1", "--prompt")[1]
    assert "Drift (ci): the forge can't be asked now" in prompt
    assert "its rate limit is used up" in prompt
