"""The protected remote, spoken to with git."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.forge.remote import protected_remote, pushes

_IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "bot@example.com"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def git(work: Path, *argv: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(work), *argv],
        check=False,
        env={**os.environ, **_IDENTITY},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def commit(work: Path, message: str) -> str:
    git(work, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(work, "rev-parse", "HEAD")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    repo = tmp_path / "work"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    commit(repo, "first")
    return repo


@pytest.fixture
def url(tmp_path: Path, work: Path) -> Iterator[str]:
    with protected_remote(tmp_path, seed=work) as url:
        yield url


def test_main_starts_at_the_seed_and_refuses_a_push(tmp_path: Path, work: Path, url: str) -> None:
    seeded = git(work, "ls-remote", url, "refs/heads/main").split()[0]
    assert seeded == git(work, "rev-parse", "HEAD")

    commit(work, "second")
    with pytest.raises(RuntimeError, match="GH006: Protected branch update failed"):
        git(work, "push", url, "HEAD:main")

    assert git(work, "ls-remote", url, "refs/heads/main").split()[0] == seeded
    assert pushes(tmp_path) == []


def test_a_branch_grows_and_every_update_is_logged(tmp_path: Path, work: Path, url: str) -> None:
    first = commit(work, "one")
    git(work, "push", url, "HEAD:refs/heads/topic")
    second = commit(work, "two")
    git(work, "push", url, "HEAD:refs/heads/topic")
    git(work, "push", url, ":refs/heads/topic")

    none = "0" * 40
    ids = [(none, first), (first, second), (second, none)]
    assert pushes(tmp_path) == [f"{old} {new} refs/heads/topic" for old, new in ids]


def test_a_branch_does_not_lose_history_even_by_force(tmp_path: Path, work: Path, url: str) -> None:
    commit(work, "one")
    git(work, "push", url, "HEAD:refs/heads/topic")
    git(work, "commit", "--quiet", "--amend", "--allow-empty", "-m", "another")

    with pytest.raises(RuntimeError, match="GH013: Cannot force-push"):
        git(work, "push", "--force", url, "HEAD:refs/heads/topic")

    assert len(pushes(tmp_path)) == 1


def test_a_push_with_a_stale_lease_is_refused(tmp_path: Path, work: Path, url: str) -> None:
    first = commit(work, "one")
    git(work, "push", url, "HEAD:refs/heads/topic")
    commit(work, "two")
    git(work, "push", url, "HEAD:refs/heads/topic")
    commit(work, "three")

    with pytest.raises(RuntimeError, match="stale info"):
        git(work, "push", f"--force-with-lease=topic:{first}", url, "HEAD:refs/heads/topic")

    assert len(pushes(tmp_path)) == 2


def test_nothing_listens_once_the_block_is_left(tmp_path: Path) -> None:
    with protected_remote(tmp_path) as url:
        port = urlsplit(url).port
        socket.create_connection(("127.0.0.1", port or 0), timeout=5).close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port or 0), timeout=5)
