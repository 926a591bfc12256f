"""Bringing the files of a worktree from one snapshot to another, in place."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from controller import extras as more
from controller.extras import Extras
from controller.folders import aside_of
from controller.index import add_all, forget, hidden
from controller.repo import Repo
from controller.survey import RULES


def put_back(repo: Repo, trees: tuple[str, str], was: Extras, be: Extras) -> None:
    """Bring the files from one tree to another, and nothing that git would remove without a
    word.
    """
    root = more.top(repo)
    odd = [path for path, _ in was.modes if (root / path).is_dir()]
    more.put_modes(root, odd, {})  # a folder may be shut
    changed = repo.changed(*trees)
    move_aside(root, _obstacles(root, changed))
    rules = [path for _, path in changed if path.rpartition("/")[2] == os.fsdecode(RULES)]
    if rules or was.rules != be.rules:
        _put_rules(repo, trees[1], {*rules, *(path for path, _ in was.rules)}, be)
    repo.git("read-tree", "--reset", "-u", trees[1])


def move_aside(root: Path, paths: Iterable[str]) -> None:
    """Move files and folders out of the worktree; nothing of them is removed."""
    aside = aside_of(root)
    for path in dict.fromkeys(paths):
        if more.inside(root, path) and os.path.lexists(root / path):  # or it is gone
            (aside / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).rename(aside / path)


def _put_rules(repo: Repo, tree: str, others: set[str], be: Extras) -> None:
    """Let the index say what the snapshot's own rules say: what they ignore is not ours to
    remove. What only the rules of now ignored has no place there, and is moved aside.
    """
    root = more.top(repo)
    unseen = hidden(repo)
    repo.git("read-tree", tree)
    for path in others:
        if more.inside(root, path):
            (root / path).unlink(missing_ok=True)
    repo.git("checkout-index", "--force", "--quiet", "--", *(
        path for path in sorted(others) if repo.entry(tree, path)))
    for path, blob in be.rules:
        if more.inside(root, path):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(repo.git("cat-file", "blob", blob))
    add_all(repo, be.nested)
    seen = repo.changed(tree, repo.git("write-tree").decode().strip())
    strangers = [path for letter, path in seen if letter == "A" and path in unseen]
    if strangers:
        forget(repo, strangers)
        move_aside(root, strangers)


def _obstacles(root: Path, changed: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What git ignores and what stands where a file or a folder has to go.

    A link on the way is for git to replace: what lies behind it is not ours.
    """
    for letter, path in changed:
        for folder in _above(path) if letter in "AT" else ():
            place = root / folder
            if place.is_symlink() or not place.exists():
                break
            if not place.is_dir():
                yield folder
                break
        if more.inside(root, path) and _in_the_way(root / path, letter):
            yield path


def _above(path: str) -> Iterator[str]:
    """The folders on the way to a path, from the top."""
    parts = path.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def _in_the_way(place: Path, letter: str) -> bool:
    """What no tree of now has is somebody's; of what one has, only a folder can't be replaced."""
    if letter == "A":
        return os.path.lexists(place)
    return letter in "MT" and place.is_dir() and not place.is_symlink()
