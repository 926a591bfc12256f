"""Refs in our repository that keep snapshots from being forgotten."""

from collections.abc import Iterable
from functools import lru_cache

from controller.core.facts import Snapshot
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


def prune(repo: Repo, kept: Iterable[Snapshot], base: str) -> None:
    """Let go of every snapshot but these and the named ones, and pack what is left.

    All of it becomes ours, but for what `base` has: what we have delivered could be borrowed, but
    its owner may remove it.
    """
    ids = {id for snapshot in kept for id in (snapshot.tree, snapshot.extras)}
    for left in (*(repo.git_dir / "refs/oneshot").rglob("*.lock"),
                 repo.git_dir / "packed-refs.lock", repo.git_dir / "packed-refs.new"):
        left.unlink(missing_ok=True)  # by a git that was killed: we are alone here
    names = repo.git("for-each-ref", "--format=%(refname)", _PINS).decode().split()
    gone = [name for name in names if name.rpartition("/")[2] not in ids]
    repo.git("update-ref", "--stdin", stdin="".join(
        f"delete {name}\n" for name in gone).encode())
    repo.git("pack-refs", "--all", "--prune")
    packs = repo.git_dir / "objects/pack"
    refs = repo.git("for-each-ref", "--format=%(objectname)").decode()
    made = repo.git("pack-objects", "--revs", "-q", str(packs / "pack"),
                    stdin=f"{refs}^{base}\n".encode(), timeout=3600).decode().strip()
    (packs / f"pack-{made}.keep").touch()
    for other in packs.glob("*.keep"):
        if other.stem != f"pack-{made}":
            other.unlink()
    repo.git("repack", "-A", "-d", "-l", "-q", "--unpack-unreachable=1.hour.ago", timeout=3600)
    repo.git("prune", "--expire=1.hour.ago", timeout=3600)
    pin_snapshot.cache_clear()
