"""What a snapshot holds beside its Git tree: what no Git tree can hold.

Folders without files, modes, FIFOs, and repositories of their own in the worktree, each kept whole
as the tree of its files and the tree of its `.git` folder. All of it is one more tree in our
repository: a manifest, and the parts that it names.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from controller.index import add_all, ignored
from controller.repo import Repo
from controller.survey import FILE, FOLDER, PROGRAM, RULES, Survey

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Extras:
    """By path. `rules` are the files that say what git ignores, and are ignored themselves: (path,
    id of a blob). `parts` are the repositories in the worktree: (path, id of a tree or blob).
    """

    folders: tuple[str, ...] = ()
    modes: tuple[tuple[str, int], ...] = ()
    fifos: tuple[str, ...] = ()
    rules: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def nested(self) -> tuple[str, ...]:
        """The folders that are repositories of their own."""
        return tuple(_repository(path) for path, _ in self.parts if path.endswith("/.git"))

    def beside(self, other: "Extras") -> tuple["Extras", tuple[str, ...]]:
        """These extras with the parts alone that differ from another's, and where to put them:
        the folders (of a repository at the top, its `.git`) that must make room.
        """
        differ = {_repository(path) or ".git" for path, _ in {*self.parts} ^ {*other.parts}}
        parts = tuple(part for part in self.parts if _within(part[0], differ))
        return replace(self, parts=parts), tuple(sorted(differ))


def _repository(part: str) -> str:
    return part[:-len("/.git")] if part.endswith("/.git") else part.removesuffix(".git")


def gather(repo: Repo, tree: str, found: Survey, nested: frozenset[str]) -> Extras:
    """The extras of a worktree whose Git tree is `tree`.

    What git ignores is left out, but a repository is kept whole: `nested` are those to keep.
    """
    implied, ruled = layout(replace(repo, inherited=()), tree)
    folders = [path for path in found.folders if path not in implied]
    unkept = ignored(repo, (path for path in (*folders, *found.modes, *found.fifos)
                           if not _within(path, found.nested)))
    left_out = frozenset(found.nested) - nested

    def kept(path: str) -> bool:
        return path not in unkept and not _within(path, left_out)

    return Extras(
        tuple(sorted(filter(kept, folders))),
        tuple(sorted(item for item in found.modes.items() if kept(item[0]))),
        tuple(sorted(filter(kept, found.fifos))),
        tuple((path, _blob(repo, path)) for path in sorted(found.rules)
              if path not in ruled and not _within(path, found.nested)),
        tuple(part for path in sorted(nested) for part in _parts(repo, path, found.nested)))


def store(repo: Repo, extras: Extras) -> str:
    """The id of the tree that holds the extras; empty when there are none."""
    if extras == Extras():
        return ""
    text = json.dumps(asdict(extras), sort_keys=True).encode()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=text).decode().strip()
    lines = [f"100644 blob {blob}\t{_MANIFEST}"]
    for number, (path, id) in enumerate(extras.parts):
        kind = "040000 tree" if (top(repo) / path).is_dir() else "100644 blob"
        lines.append(f"{kind} {id}\t{number}")
    return repo.git("mktree", stdin="\n".join(lines).encode() + b"\n").decode().strip()


@lru_cache(maxsize=16)
def load(repo: Repo, id: str) -> Extras:
    """The extras that `store` gave this id."""
    if not id:
        return Extras()
    found = json.loads(repo.git("cat-file", "blob", f"{id}:{_MANIFEST}"))
    return Extras(tuple(found["folders"]), tuple((path, mode) for path, mode in found["modes"]),
                  tuple(found["fifos"]), tuple((path, id) for path, id in found["rules"]),
                  tuple((path, id) for path, id in found["parts"]))


def put_parts(repo: Repo, extras: Extras) -> None:
    """Write the repositories of `extras` into a worktree that has none of their files."""
    for path, id in extras.parts:
        place = top(repo) / path
        if repo.git("cat-file", "-t", id).strip() == b"blob":
            place.write_bytes(repo.git("cat-file", "blob", id))
            continue
        place.mkdir(parents=True, exist_ok=True)
        _part(repo, place).git("read-tree", "--reset", "-u", id)


def put_rest(repo: Repo, tree: str, was: Extras, wanted: Extras) -> tuple[str, ...]:
    """Give a worktree that had the extras `was`, and now has the files of `tree`, the folders,
    FIFOs and modes of `wanted`.

    Returns the folders that should not be there and hold what git ignores.
    """
    root, (implied, _) = top(repo), layout(replace(repo, inherited=()), tree)
    for path in sorted({*was.fifos} - {*wanted.fifos}):
        if inside(root, path) and (root / path).is_fifo():
            (root / path).unlink()
    gone = {*was.folders} - {*wanted.folders} - implied
    full = [path for path in sorted(gone, reverse=True)
            if inside(root, path) and not _removed(root / path)]
    for path in wanted.folders:
        (root / path).mkdir(parents=True, exist_ok=True)
    for path in wanted.fifos:
        if not (root / path).is_fifo():
            os.mkfifo(root / path)
    odd = (*(path for path, _ in was.modes), *wanted.folders, *wanted.fifos)
    put_modes(root, odd, dict(wanted.modes))
    return tuple(reversed(full))


def put_modes(root: Path, odd: Iterable[str], wanted: dict[str, int]) -> None:
    """Give files and folders the modes of `wanted`, and those of `odd` that it does not name the
    usual ones; what lies deeper first, since a folder may shut what is in it.
    """
    for path in sorted({*odd, *wanted}, reverse=True):
        place = root / path
        if inside(root, path) and place.exists() and not place.is_symlink():
            place.chmod(wanted.get(path, _usual(place)))


def inside(root: Path, path: str) -> bool:
    """Whether a path leads to something in the worktree: what lies behind a link is not ours."""
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        if place.is_symlink():
            return False
    return True


def _usual(place: Path) -> int:
    if place.is_dir():
        return FOLDER
    return PROGRAM if place.is_file() and place.stat().st_mode & 0o100 else FILE


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _parts(repo: Repo, path: str, nested: Iterable[str]) -> Iterable[tuple[str, str]]:
    """A repository's files, but for those of repositories in it, and its `.git`."""
    here, inner = top(repo), f"{path}/.git" if path else ".git"
    if path:
        below = [other.removeprefix(f"{path}/") for other in nested
                 if other.startswith(f"{path}/")]
        yield path, _tree(repo, here / path, below)
    if (here / inner).is_dir():
        yield inner, _tree(repo, here / inner, ())
    else:
        yield inner, _blob(repo, inner)


def _blob(repo: Repo, path: str) -> str:
    return repo.git("hash-object", "-w", "--no-filters", "--", str(top(repo) / path)
                    ).decode().strip()


def _tree(repo: Repo, folder: Path, outside: Iterable[str]) -> str:
    part = _part(repo, folder)
    add_all(part, outside, force=True)
    return part.git("write-tree").decode().strip()


def _part(repo: Repo, folder: Path) -> Repo:
    """A view of one folder as a worktree of its own, with an empty index."""
    assert repo.index is not None
    index = repo.index.with_suffix(".part")
    for file in (index, index.with_name(index.name + ".lock")):
        file.unlink(missing_ok=True)
    return replace(repo, work_tree=folder, index=index)


def top(repo: Repo) -> Path:
    """The worktree of a repository that has one."""
    assert repo.work_tree is not None
    return repo.work_tree


def _within(path: str, nested: Iterable[str]) -> bool:
    """Whether a path is kept with a repository; of one at the top that is its `.git` only."""
    roots = (folder or ".git" for folder in nested)
    return any(path == root or path.startswith(f"{root}/") for root in roots)


@lru_cache(maxsize=64)
def layout(repo: Repo, tree: str) -> tuple[frozenset[str], frozenset[str]]:
    """The folders of a tree, and its files that say what git ignores."""
    found = tuple(repo.entries(tree))
    return (frozenset(path for kind, path in found if kind != "blob"),
            frozenset(path for _, path in found
                      if path.rpartition("/")[2] == os.fsdecode(RULES)))
