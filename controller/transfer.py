"""Objects on their way from one repository to another."""

from collections.abc import Sequence
from datetime import UTC, datetime

from controller.repo import Identity, Repo


def take_objects(into: Repo, source: Repo, new: str, known: Sequence[str]) -> None:
    """Copy what `new` needs and `known` does not have from another repository. Runs no hook."""
    wanted = "\n".join([new, *(f"^{name}" for name in known)]) + "\n"
    pack = source.git("pack-objects", "--revs", "--stdout", "-q", stdin=wanted.encode())
    into.git("unpack-objects", "-q", stdin=pack)


def keep_objects(into: Repo, source: Repo, known: str, *new: str) -> None:
    """Have what `new` needs and `known` does not have ourselves, though we could borrow it."""
    wanted = "".join(f"{name}\n" for name in (*new, f"^{known}"))
    pack = source.git("pack-objects", "--revs", "--stdout", "-q", stdin=wanted.encode())
    into.git("index-pack", "--stdin", "--fix-thin", stdin=pack)


def bundle(repo: Repo, base: str) -> bytes:
    """Every ref with its objects, but for those of `base` (git-bundle(1))."""
    mark = repo.commit_tree(repo.tree_of(base), base, "bundle", Identity(),
                            datetime(2000, 1, 1, tzinfo=UTC))  # so that it is never empty
    repo.unlock("refs/oneshot/bundle")
    repo.git("update-ref", "refs/oneshot/bundle", mark)
    return repo.git("bundle", "create", "-q", "-", "--all", f"^{base}")


def unbundle(repo: Repo, bundle: bytes, *wanted: str) -> None:
    """Take over the objects of a bundle, and its refs that begin with one of `wanted`.

    Raises WorldError when it is damaged.
    """
    place = repo.git_dir / "import.bundle"
    place.write_bytes(bundle)
    try:
        refs = repo.git("bundle", "unbundle", str(place)).decode().splitlines()
        repo.git("update-ref", "--stdin", stdin="".join(
            f"update {name} {id}\n" for id, name in map(str.split, refs)
            if name.startswith(wanted)).encode())
    finally:
        place.unlink()
