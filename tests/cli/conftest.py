"""The real command in a process of its own, on the sample repository of the demo."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from controller.process import capture
from controller.store.queries import Queries
from controller.store.sqlite import open_tables
from controller.testing.script import write_cassette
from tests.conftest import Git

DEMO = Path(str(files("contracts") / "examples/demo"))
START = "import sys; from controller.cli import main; sys.argv[0] = 'oneshot'; main()"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Shop:
    """The sample repository, and `oneshot` in it."""

    repo: Path
    env: dict[str, str]

    def oneshot(self, *args: str, **env: str) -> Ran:
        said = capture([sys.executable, "-P", "-c", START, *args], cwd=self.repo,
                       env={**self.env, **env}, timeout=240)
        return Ran(said.exit, said.stdout.decode(), said.stderr.decode())

    def replies(self, *replies: Any) -> Path:
        """A cassette of transitions; the n-th gets the version n unless it brings its own."""
        cassette = self.repo.parent / "cassette.jsonl"
        write_cassette(cassette, replies)
        return cassette

    def contract(self, name: str, text: str) -> None:
        (self.repo / ".agent-contract" / name).write_text(text)

    @property
    def holder(self) -> int:
        """The process that holds the last run."""
        queries = Queries(open_tables(self.repo / ".agent-runtime/oneshot.db"))
        holder = queries.holder(queries.runs()[-1])
        assert holder is not None
        return holder.pid

    @property
    def worktree(self) -> Path:
        (found,) = (self.repo.parent / "cache/oneshot").glob("*/work")
        return found


MakeShop = Callable[[], Shop]


@pytest.fixture
def shop(tmp_path: Path, git: Git) -> Shop:
    """The demo's repository with its contract, committed."""
    repo = tmp_path / "shop"
    shutil.copytree(DEMO / "project", repo)
    shutil.copytree(DEMO / "contract", repo / ".agent-contract")
    with (repo / ".agent-contract/policy.yaml").open("a") as policy:
        policy.write(f"environment: {{path: [{json.dumps(str(Path(sys.executable).parent))}]}}\n")
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "base")
    home = tmp_path / "home"
    home.mkdir()
    return Shop(repo, {"PATH": os.defpath, "HOME": str(home), "LC_ALL": "C.UTF-8",
                       "XDG_CACHE_HOME": str(tmp_path / "cache")})


@pytest.fixture
def quick(shop: Shop, git: Git) -> Shop:
    """The sample repository with one criterion that costs nothing to check."""
    shop.contract("intent-contract.yaml", "goal: Say hello.\nsuccess_criteria:\n"
                  "  hello: {check: {file: hello.txt, contains: hello}}\n")
    git(shop.repo, "commit", "-q", "-a", "-m", "a quick contract")
    return shop
