"""Refs in our repository that keep snapshots from being forgotten."""

from collections.abc import Iterable
from functools import lru_cache

from controller.core.records import Snapshot
from controller.repo import Repo

_PINS = "refs/oneshot/trees"


@lru_cache(maxsize=1024)
def pin_snapshot(repo: Repo, snapshot: Snapshot) -> None:
    """Let no gc drop a snapshot. Remembered: each is pinned once a process."""
    pin(repo, {f"{_PINS}/{id}": id for id in (snapshot.tree, snapshot.extras)})


def pin(repo: Repo, refs: dict[str, str]) -> None:
    """Give names to objects; an empty id gives none."""
    for name in refs:
        repo.unlock(name)
    repo.git("update-ref", "--stdin", stdin="".join(
        f"update {name} {id}\n" for name, id in refs.items() if id).encode())


def prune(repo: Repo, kept: Iterable[Snapshot]) -> None:
    """Let go of every snapshot but these and the named ones, and pack what is left."""
    ids = {id for snapshot in kept for id in (snapshot.tree, snapshot.extras)}
    names = repo.git("for-each-ref", "--format=%(refname)", _PINS).decode().split()
    gone = [name for name in names if name.rpartition("/")[2] not in ids]
    repo.git("update-ref", "--stdin", stdin="".join(
        f"delete {name}\n" for name in gone).encode())
    repo.git("pack-refs", "--all", "--prune")
    repo.git("repack", "-A", "-d", "-l", "-q", "--unpack-unreachable=1.hour.ago", timeout=3600)
    repo.git("prune", "--expire=1.hour.ago", timeout=3600)
