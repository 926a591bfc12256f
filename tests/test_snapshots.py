"""A snapshot brings a worktree back exactly, whatever was done to it meanwhile."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.checkout import create, open_checkout
from controller.core.errors import WorldError
from controller.repo import Repo
from controller.snapshots import Snapshots
from tests.conftest import Git


@pytest.fixture
def snapshots(checkout: Path, tmp_path: Path) -> Snapshots:
    return opened(checkout, tmp_path)


def opened(checkout: Path, tmp_path: Path) -> Snapshots:
    user = open_checkout(checkout)
    (tmp_path / "work").mkdir()
    create(tmp_path / "repo.git", user)
    repo = Repo(tmp_path / "repo.git", tmp_path / "work", tmp_path / "repo.git/w.index")
    made = Snapshots(repo, user.commit("HEAD"))
    made.restore(user.tree_of("HEAD"))
    return made


def content(root: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(root))] = (0, str(path.readlink()).encode())
        elif path.is_file():
            mode = stat.S_IMODE(path.stat().st_mode) & 0o111
            found[str(path.relative_to(root))] = (mode, path.read_bytes())
    return found


def empty(root: Path) -> None:
    for path in root.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def swap_to_folder(root: Path) -> None:
    (root / "app.py").unlink()
    (root / "app.py").mkdir()
    (root / "app.py/inside").write_text("x")


def swap_to_file(root: Path) -> None:
    shutil.rmtree(root / "sub")
    (root / "sub").write_text("x")


def swap_to_link(root: Path) -> None:
    shutil.rmtree(root / "sub")
    (root / "sub").symlink_to("/etc")


def ignored_in_the_way(root: Path) -> None:
    (root / "app.py").unlink()
    (root / "app.py").mkdir()
    (root / "app.py/x.log").write_text("ignored")


def same_size_same_time(root: Path) -> None:
    before = (root / "app.py").stat()
    (root / "app.py").write_bytes((root / "app.py").read_bytes()[::-1])
    os.utime(root / "app.py", ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def link_over_a_folder(root: Path) -> None:
    """A link to somebody's folder, with a folder there of the name of one of our files."""
    outside = root.with_name("outside")
    (outside / "data.txt").mkdir(parents=True)
    (outside / "data.txt/precious").write_text("mine")
    shutil.rmtree(root / "sub")
    (root / "sub").symlink_to(outside)


MESSES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "changed": lambda root: (root / "app.py").write_text("x"),
    "removed": lambda root: (root / "app.py").unlink(),
    "emptied": empty,
    "added": lambda root: (root / "sub/ü \n“x” -n").write_text("x"),
    "not-utf-8": lambda root: Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe")).write_text("x"),
    "executable": lambda root: (root / "app.py").chmod(0o755),
    "crlf": lambda root: (root / "app.py").write_bytes(b"a\r\nb\r\n"),
    "attributes": lambda root: (root / ".gitattributes").write_text("* text eol=crlf"),
    "unignored": lambda root: (root / ".gitignore").write_text("*.py\n"),
    "file-to-folder": swap_to_folder,
    "folder-to-file": swap_to_file,
    "folder-to-link": swap_to_link,
    "ignored-in-the-way": ignored_in_the_way,
    "link-over-a-folder": link_over_a_folder,
    "same-size-same-time": same_size_same_time,
    "dangling-link": lambda root: (root / "link").symlink_to("nowhere"),
    "the-whole-worktree": shutil.rmtree,
}


@pytest.mark.parametrize("mess", MESSES.values(), ids=MESSES)
def test_restore_is_exact(snapshots: Snapshots, mess: Callable[[Path], object]) -> None:
    (snapshots.root / "new.sh").write_text("#!/bin/sh\n")
    (snapshots.root / "new.sh").chmod(0o755)
    (snapshots.root / "to").symlink_to("app.py")
    tree, before = snapshots.take(), content(snapshots.root)
    mess(snapshots.root)

    snapshots.restore(tree)

    assert content(snapshots.root) == before
    assert snapshots.take() == tree
    outside = snapshots.root.with_name("outside")
    assert not outside.exists() or (outside / "data.txt/precious").read_text() == "mine"


def test_the_same_files_are_the_same_tree_and_others_another(snapshots: Snapshots) -> None:
    first = snapshots.take()
    (snapshots.root / "app.py").touch()
    same = snapshots.take()
    (snapshots.root / "x").write_text("")

    assert (same, snapshots.take() == first) == (first, False)


def test_what_git_ignores_and_tools_leave_behind_is_neither_taken_nor_touched(
        snapshots: Snapshots) -> None:
    before = snapshots.take()
    kept = [snapshots.root / name for name in ("a.log", "__pycache__/a.pyc", ".venv/bin/python")]
    for file in kept:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")

    assert snapshots.take() == before
    snapshots.restore(before)
    assert all(file.exists() for file in kept)


@pytest.mark.parametrize("damage", ["locked", "damaged", "gone"])
def test_our_index_is_only_a_cache(snapshots: Snapshots, damage: str) -> None:
    tree, index = snapshots.take(), snapshots.repo.index
    assert index
    (snapshots.root / "app.py").write_text("x")
    other = snapshots.take()
    if damage == "locked":
        index.with_name("w.index.lock").write_text("")
    elif damage == "damaged":
        index.write_bytes(index.read_bytes()[:50])
    else:
        index.unlink()

    assert snapshots.take() == other
    snapshots.restore(tree)
    assert snapshots.take() == tree


def test_a_file_that_git_tracks_and_ignores_outlives_our_index(
        checkout: Path, git: Git, tmp_path: Path) -> None:
    (checkout / "kept.log").write_text("tracked")
    git(checkout, "add", "-f", "kept.log")
    git(checkout, "commit", "-q", "-m", "a log")
    snapshots = opened(checkout, tmp_path)
    tree = snapshots.take()
    assert snapshots.repo.index
    snapshots.repo.index.unlink()

    assert snapshots.take() == tree


def test_what_git_cannot_take_is_moved_aside_whole(snapshots: Snapshots, git: Git) -> None:
    tree = snapshots.take()
    git(snapshots.root, "init", "-q", "nested")
    (snapshots.root / "nested/work.txt").write_text("somebody's")
    (snapshots.root / "app.py").unlink()

    snapshots.restore(tree)

    assert snapshots.take() == tree
    assert (snapshots.root / "app.py").exists()
    assert snapshots.root.with_name("work.aside-1").joinpath(
        "nested/work.txt").read_text() == "somebody's"


def test_a_tree_that_is_not_there_leaves_the_worktree_alone(snapshots: Snapshots) -> None:
    (snapshots.root / "app.py").write_text("mine")

    with pytest.raises(WorldError):
        snapshots.restore("0" * 39 + "1")

    assert (snapshots.root / "app.py").read_text() == "mine"
    assert not snapshots.root.with_name("work.aside-1").exists()
