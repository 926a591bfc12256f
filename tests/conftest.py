"""What every test finds: no home folder of a person's, and real Git repositories to work in."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from controller.core.tier import Tier
from controller.process import capture
from controller.sandbox.choice import Sandbox, unprivileged
from controller.sandbox.profile import Bounds

pytest_plugins = ["tests.bench"]

settings.register_profile("steady", deadline=None, derandomize=True,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

Git = Callable[..., str]
"""Run a git command in a folder, as a person would: `git(folder, "commit", "-m", "x")`."""


@pytest.fixture(autouse=True, scope="session")
def no_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Whatever a test starts finds an empty home folder, and no key."""
    home = tmp_path_factory.mktemp("home")
    kept = {name: os.environ.pop(name) for name in list(os.environ)
            if name.startswith(("XDG_", "GIT_", "ANTHROPIC_", "OPENAI_", "CLAUDE_", "CODEX_"))}
    before = os.environ.get("HOME", "")
    os.environ["HOME"] = str(home)
    yield home
    os.environ.update(kept, HOME=before)


@pytest.fixture(autouse=True)
def reachable(tmp_path: Path) -> None:
    """As root, commands run as somebody else, who must be able to come to a test's folders."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.getuid() and "pytest" in str(folder):
            folder.chmod(folder.stat().st_mode | 0o011)


@pytest.fixture(scope="session")
def sandboxes() -> dict[Tier, Sandbox]:
    """The sandboxes that commands of tests get; whether they hold is what tests/sandbox asks."""
    bounds, user = Bounds(processes=200), unprivileged()
    if user is not None:  # each worker's own: a fork bomb in one is not to starve another
        user += 1 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return {tier: Sandbox(tier, user, bounds) for tier in Tier if tier}


@pytest.fixture
def git() -> Git:
    """The real git."""
    def run(folder: Path, *args: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@localhost",
               "GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@localhost"}
        said = capture(("git", *args), cwd=folder, env=env)
        assert said.exit == 0, said.stderr.decode()
        return said.stdout.decode("utf-8", "surrogateescape").strip()

    return run


@pytest.fixture
def checkout(tmp_path: Path, git: Git) -> Path:
    """A user's repository with one Git commit: app.py, sub/data.txt and a test."""
    folder = tmp_path / "user"
    folder.mkdir()
    for name, text in {"app.py": "def add(a, b):\n    return a - b\n", "sub/data.txt": "one\ntwo\n",
                       "tests/test_app.py": "from app import add\n\n\ndef test_add():\n"
                                            "    assert add(1, 2) == 3\n",
                       ".gitignore": "*.log\n"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    return folder
