"""A snapshot brings a worktree back exactly, whatever was done to it meanwhile."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from controller.checkout import create, open_checkout
from controller.core.errors import WorldError
from controller.core.facts import Snapshot
from controller.folders import remove
from controller.index import ignored
from controller.process import capture
from controller.repo import Identity, Repo
from controller.snapshots import Snapshots
from controller.survey import Walk, survey, walk
from controller.testing.clock import MORNING
from controller.transfer import take_objects
from tests.conftest import Git
from tests.trees import content, mess


@pytest.fixture
def snapshots(checkout: Path, tmp_path: Path) -> Snapshots:
    return opened(checkout, tmp_path)


def opened(checkout: Path, tmp_path: Path) -> Snapshots:
    user = open_checkout(checkout)
    (tmp_path / "work").mkdir()
    create(tmp_path / "repo.git", user)
    repo = Repo(tmp_path / "repo.git", tmp_path / "work", tmp_path / "repo.git/w.index")
    made = Snapshots(repo, user.commit("HEAD"))
    made.restore(Snapshot(user.tree_of("HEAD")))
    return made


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


@pytest.mark.parametrize("seed", range(60))
def test_restore_is_exact_over_random_trees(snapshots: Snapshots, seed: int) -> None:
    """Nasty names, bytes that are not UTF-8, CRLF, modes, links, swaps of files and folders, FIFOs,
    repositories in the worktree, other cases of a name, the racy second.
    """
    random = Random(seed)
    mess(snapshots.root, random, random.randrange(12))
    wanted, before = snapshots.take(), content(snapshots.root)
    mess(snapshots.root, random, random.randrange(1, 12))

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    after = content(snapshots.root)
    changed = {os.fsdecode(path) for path in before.keys() | after.keys()
               if before.get(path) != after.get(path)}
    assert changed == ignored(snapshots.repo, changed)


def test_what_the_snapshot_ignores_outlives_a_step_that_made_git_see_it(
        snapshots: Snapshots) -> None:
    (snapshots.root / "precious.log").write_text("ignored, and not ours to remove")
    wanted = snapshots.take()
    (snapshots.root / ".gitignore").write_text("*.tmp\n")
    (snapshots.root / "new.tmp").write_text("hidden by the step itself")
    (snapshots.root / "made.txt").write_text("made by the step")

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert (snapshots.root / "precious.log").exists()
    assert not (snapshots.root / "new.tmp").exists()
    assert not (snapshots.root / "made.txt").exists()


def test_an_ignored_file_in_the_way_is_moved_aside(snapshots: Snapshots) -> None:
    (snapshots.root / "out.log").mkdir()
    (snapshots.root / "out.log/kept").write_text("x")
    snapshots.repo.git("add", "--force", "out.log/kept")
    wanted = snapshots.take()
    shutil.rmtree(snapshots.root / "out.log")
    snapshots.take()
    (snapshots.root / "out.log").write_text("ignored")

    snapshots.restore(wanted)

    assert (snapshots.root / "out.log/kept").read_text() == "x"
    assert snapshots.root.with_name("work.aside-1").joinpath("out.log").read_text() == "ignored"


def test_what_lies_behind_a_link_is_not_touched(snapshots: Snapshots) -> None:
    """A step makes a folder of what was a link to somebody's folder, with the same names in it."""
    outside = snapshots.root.with_name("outside")
    (outside / "empty").mkdir(parents=True)
    (outside / "full").mkdir()
    (outside / "full/precious").write_text("mine")
    (outside / "key").write_text("mine")
    (outside / "key").chmod(0o600)
    (snapshots.root / "a").symlink_to(outside)
    wanted, before = snapshots.take(), content(outside)
    (snapshots.root / "a").unlink()
    for name in ("a/empty", "a/full"):
        (snapshots.root / name).mkdir(parents=True)
    (snapshots.root / "a/key").write_text("x")
    (snapshots.root / "a/key").chmod(0o640)
    os.mkfifo(snapshots.root / "a/pipe")

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert content(outside) == before


def test_an_ignored_file_that_a_step_moved_is_not_lost(snapshots: Snapshots) -> None:
    (snapshots.root / "d").mkdir()
    (snapshots.root / "d/.gitignore").write_text("*\n!.gitignore\n")
    (snapshots.root / "d/secret").write_text("precious")
    wanted = snapshots.take()
    (snapshots.root / "d").rename(snapshots.root / "dd")

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert [path.read_text() for path in snapshots.root.parent.rglob("secret")] == ["precious"]


def test_rules_that_ignore_themselves_hide_nothing_of_what_a_step_made(
        snapshots: Snapshots) -> None:
    wanted = snapshots.take()
    (snapshots.root / ".gitignore").write_text("*\n")
    (snapshots.root / "made.txt").write_text("by the step")

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert not (snapshots.root / "made.txt").exists()


def test_a_folder_that_ignores_itself_survives_a_step_that_took_its_rules_away(
        snapshots: Snapshots) -> None:
    (snapshots.root / "venv").mkdir()
    (snapshots.root / "venv/.gitignore").write_text("*\n")
    (snapshots.root / "venv/python").write_text("a program")
    wanted = snapshots.take()
    (snapshots.root / "venv/.gitignore").unlink()

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert (snapshots.root / "venv/python").read_text() == "a program"


def test_what_is_ignored_stays_in_place_when_a_repository_beside_it_is_restored(
        snapshots: Snapshots, git: Git) -> None:
    (snapshots.root / "kept.log").write_text("ignored")
    wanted = snapshots.take()
    git(snapshots.root, "init", "-q", "nested")

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert (snapshots.root / "kept.log").exists()


def test_a_folder_too_deep_for_git_wedges_nothing(snapshots: Snapshots) -> None:
    wanted, place = snapshots.take(), snapshots.root
    here = os.open(place, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("folder", dir_fd=here)
        there = os.open("folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(here)

    assert snapshots.take().tree == wanted.tree
    snapshots.restore(wanted)
    remove(snapshots.root.with_name("work.aside-1"))

    assert snapshots.take() == wanted


def test_a_locked_index_of_a_repository_in_the_worktree_is_only_a_cache(
        snapshots: Snapshots, git: Git) -> None:
    git(snapshots.root, "init", "-q", "nested")
    wanted = snapshots.take()
    (snapshots.repo.git_dir / "w.part.lock").write_text("")

    assert snapshots.take() == wanted


def test_what_was_delivered_and_removed_again_is_kept_by_a_prune(
        snapshots: Snapshots, checkout: Path, git: Git) -> None:
    """The user's repository has had the objects, so ours could have borrowed them."""
    (snapshots.root / "new.txt").write_text("delivered")
    kept, user = snapshots.take(), open_checkout(checkout)
    made = snapshots.repo.commit_tree(kept.tree, snapshots.base, "m", Identity(), MORNING)
    snapshots.prune([kept])
    take_objects(user, snapshots.repo, made, [snapshots.base])
    snapshots.prune([kept])
    git(checkout, "gc", "--prune=now", "--quiet")

    assert snapshots.has(kept)
    snapshots.restore(kept)


def test_a_repository_in_the_worktree_is_kept_whole(snapshots: Snapshots, git: Git) -> None:
    git(snapshots.root, "init", "-q", "nested")
    (snapshots.root / "nested/work.txt").write_text("somebody's")
    git(snapshots.root / "nested", "add", "work.txt")
    git(snapshots.root / "nested", "commit", "-q", "-m", "one")
    wanted, commit = snapshots.take(), git(snapshots.root / "nested", "rev-parse", "HEAD")
    shutil.rmtree(snapshots.root / "nested/.git/objects")
    (snapshots.root / "app.py").unlink()

    snapshots.restore(wanted)

    assert snapshots.take() == wanted
    assert git(snapshots.root / "nested", "rev-parse", "HEAD") == commit
    assert git(snapshots.root / "nested", "status", "--porcelain") == ""
    assert snapshots.nested(wanted.extras) == ("nested",)


def test_a_fifo_that_git_would_wait_at_for_ever_stops_nothing(snapshots: Snapshots) -> None:
    wanted = snapshots.take()
    (snapshots.root / ".gitignore").unlink()
    for name in (".gitignore", ".gitattributes", "sub/.gitignore"):
        os.mkfifo(snapshots.root / name)

    snapshots.restore(wanted)

    assert snapshots.take() == wanted


def test_a_snapshot_outlives_a_gc_until_it_is_pruned(snapshots: Snapshots) -> None:
    (snapshots.root / "new.txt").write_text("one")
    os.mkfifo(snapshots.root / "pipe")
    kept = snapshots.take()
    (snapshots.root / "new.txt").write_text("two")
    dropped = snapshots.take()
    snapshots.keep("found/by-name")
    (snapshots.root / "new.txt").write_text("three")
    gone = snapshots.take()

    snapshots.repo.git("gc", "--prune=now", "--quiet")
    all_there = [snapshots.has(snapshot) for snapshot in (kept, dropped, gone)]
    snapshots.prune([kept])
    snapshots.repo.git("gc", "--prune=now", "--quiet")

    assert all_there == [True, True, True]
    assert [snapshots.has(snapshot) for snapshot in (kept, dropped, gone)] == [True, True, False]


def test_a_git_that_a_dead_controller_left_at_work_is_waited_for(snapshots: Snapshots) -> None:
    """Its child has the lock; only when that has ended is the worktree looked at again."""
    assert snapshots.repo.index
    wanted, lock = snapshots.take(), snapshots.repo.index.with_suffix(".flock")
    script = ("import fcntl, os, sys; held = open(sys.argv[1]); fcntl.flock(held, fcntl.LOCK_EX); "
              "os.set_inheritable(held.fileno(), True); "
              "os.system('(sleep 0.5; touch late) >/dev/null 2>&1 &')")
    capture([sys.executable, "-c", script, str(lock)], cwd=snapshots.root,
            env={"PATH": os.defpath})

    snapshots.restore(wanted)

    assert not (snapshots.root / "late").exists()


def test_a_tree_that_is_not_there_leaves_the_worktree_alone(snapshots: Snapshots) -> None:
    (snapshots.root / "app.py").write_text("mine")

    with pytest.raises(WorldError):
        snapshots.restore(Snapshot("0" * 39 + "1"))

    assert (snapshots.root / "app.py").read_text() == "mine"
    assert not snapshots.root.with_name("work.aside-1").exists()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """More files than we walk over by ourselves."""
    root = tmp_path / "many"
    for number in range(1200):
        file = root / f"{number % 8}/{number % 40}/f{number} \n'é"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    (root / "0/link").symlink_to("/etc")
    (root / "0/node_modules").mkdir()
    (root / "0/node_modules/left").write_text("")
    os.mkfifo(root / "7/fifo")
    (root / "7/7/f7 \n'é").chmod(0o600)
    return root


def test_what_find_saw_for_us_is_what_we_would_have_seen(many: Path) -> None:
    helped = walk(many, 0)
    alone = Walk(list(helped.entries), 0)

    assert helped.listed
    assert {here for here, *_ in helped.entries} == {
        os.fsencode(str(place.relative_to(many))) for place in many.rglob("*")
        if "node_modules" not in place.parts}
    assert survey(many, 0, helped) == survey(many, 0, alone)
    assert survey(many, 0, helped).modes == {"7/7/f7 \n'é": 0o600} | (
        {"7/fifo": 0o644} if (many / "7/fifo").stat().st_mode & 0o777 != 0o644 else {})


@pytest.mark.parametrize("change", [
    lambda root: (root / "3/3/f3 \n'é").write_text("y"),
    lambda root: (root / "5/new").touch(),
    lambda root: (root / "6/6/f6 \n'é").chmod(0o755),
    lambda root: (root / "2/2/f2 \n'é").unlink(),
    lambda root: (root / "4/empty").mkdir(),
    lambda root: _same_size_and_time(root / "1/1/f1 \n'é"),
], ids=["content", "new", "mode", "gone", "folder", "put-back-times"])
def test_a_walk_is_another_after_any_change(many: Path, change: Callable[[Path], object]) -> None:
    before = walk(many, 0)
    assert before.same(walk(many, 0))

    change(many)

    assert not before.same(walk(many, 0))


def _same_size_and_time(file: Path) -> None:
    about = file.stat()
    file.write_text("z")
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


def test_a_snapshot_of_what_has_not_changed_is_not_taken_anew(
        snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (snapshots.root, *snapshots.root.rglob("*")):
        os.utime(place)
    monkeypatch.setattr("time.time_ns", lambda: 2**62)  # long after the last change
    first = snapshots.take()
    monkeypatch.setattr(Repo, "git", None)  # so that asking git is a fault

    assert snapshots.take() == first


def test_what_changed_just_now_is_looked_at_again(
        snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = max(place.stat().st_ctime_ns for place in snapshots.root.rglob("*"))
    monkeypatch.setattr("time.time_ns", lambda: newest + 1_000_000)

    snapshots.take()

    assert snapshots._held == []


def test_what_the_base_has_in_a_folder_of_a_tools_is_seen_to_change(
        checkout: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "node_modules/check").mkdir(parents=True)
    (checkout / "node_modules/check/index.js").write_text("ours")
    git(checkout, "add", "--force", "node_modules")
    git(checkout, "commit", "-q", "-m", "vendored")
    snapshots = opened(checkout, tmp_path)
    monkeypatch.setattr("time.time_ns", lambda: 2**62)
    before = snapshots.take()

    (snapshots.root / "node_modules/check/index.js").write_text("theirs")

    assert snapshots.take() != before
