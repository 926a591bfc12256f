"""Git does what its arguments say, whatever the user's repository would like it to do."""

import os
from pathlib import Path

import pytest

from controller.checkout import (
    create,
    identity_of,
    is_dirty,
    noticed,
    open_checkout,
    refused,
)
from controller.core.errors import SetupError, WorldError
from controller.loose import head_id, read_ref, under_way
from controller.repo import ABSENT, Identity, Repo
from controller.testing.clock import MORNING
from controller.transfer import take_objects
from tests.conftest import Git


@pytest.fixture
def user(checkout: Path) -> Repo:
    return open_checkout(checkout)


@pytest.fixture
def ours(user: Repo, tmp_path: Path) -> Repo:
    work = tmp_path / "work"
    work.mkdir()
    create(tmp_path / "repo.git", user)
    return Repo(tmp_path / "repo.git", work, tmp_path / "repo.git/our.index")


def test_a_checkout_is_found_from_a_folder_below(checkout: Path) -> None:
    assert open_checkout(checkout / "sub").work_tree == checkout


def test_a_linked_worktree_is_a_checkout(checkout: Path, git: Git, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", str(tmp_path / "linked"))

    found = open_checkout(tmp_path / "linked")

    assert found.commit("HEAD") == git(checkout, "rev-parse", "main")
    create(tmp_path / "repo.git", found).tree_of(found.commit("HEAD"))


def test_no_checkout_is_a_set_up_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is in no Git checkout; run `git init`"):
        open_checkout(tmp_path)


def test_our_repository_borrows_objects_and_adds_none_to_the_users(
        ours: Repo, user: Repo, checkout: Path, git: Git) -> None:
    before = git(checkout, "count-objects", "-v")
    assert ours.work_tree
    (ours.work_tree / "new.txt").write_text("new")
    ours.git("add", "--all", "--", ".")

    made = ours.commit_tree(ours.git("write-tree").decode().strip(), user.commit("HEAD"),
                            "new", Identity(), MORNING)

    assert ours.commit(made) == made
    assert git(checkout, "count-objects", "-v") == before


def test_a_git_commit_is_made_of_its_arguments_alone(ours: Repo, user: Repo) -> None:
    parent = user.commit("HEAD")
    make = [ours.commit_tree(user.tree_of("HEAD"), parent, "m", Identity("é", "a@b"), MORNING)
            for _ in range(2)]

    assert make[0] == make[1]


def test_a_ref_moves_by_compare_and_set(ours: Repo, user: Repo) -> None:
    base = user.commit("HEAD")
    made = ours.commit_tree(user.tree_of("HEAD"), base, "m", Identity(), MORNING)
    ref = "refs/heads/oneshot/x"

    moves = [ours.move_ref(ref, base, made), ours.move_ref(ref, base, ABSENT),
             ours.move_ref(ref, base, ABSENT), ours.move_ref(ref, made, ABSENT),
             ours.move_ref(ref, made, base)]

    # Setting it to what it is already is no failure: the move may be done again after a crash.
    assert moves == [False, True, True, False, True]
    assert (ours.ref(ref), ours.ref("refs/heads/oneshot")) == (made, None)
    assert [ours.move_ref(ref, ABSENT, old) for old in (base, made, made)] == [False, True, True]
    assert ours.ref(ref) is None


def test_a_ref_that_could_move_and_does_not_is_a_fault(ours: Repo, user: Repo) -> None:
    (ours.git_dir / "refs/heads/x.lock").write_text("")

    with pytest.raises(WorldError, match="Unable to create"):
        ours.move_ref("refs/heads/x", user.commit("HEAD"), ABSENT)


def test_objects_reach_the_user_whole(ours: Repo, user: Repo, checkout: Path, git: Git) -> None:
    assert ours.work_tree
    (ours.work_tree / "dir").mkdir()
    (ours.work_tree / "dir/new.bin").write_bytes(bytes(range(256)) * 50)
    ours.git("add", "--all", "--", ".")
    base = user.commit("HEAD")
    made = ours.commit_tree(ours.git("write-tree").decode().strip(), base, "m", Identity(), MORNING)

    take_objects(user, ours, made, [base])
    take_objects(user, ours, made, [base])

    assert git(checkout, "cat-file", "-t", made) == "commit"
    assert git(checkout, "ls-tree", "--name-only", made) == "dir"


def test_an_export_is_the_tree_exactly(ours: Repo, checkout: Path, tmp_path: Path,
                                       git: Git, user: Repo) -> None:
    (checkout / ".gitattributes").write_text("*.txt export-ignore eol=crlf\n*.py export-subst\n")
    (checkout / "run.sh").write_text("#!/bin/sh\n# $Format:%H$\n")
    (checkout / "run.sh").chmod(0o755)
    (checkout / "link").symlink_to("app.py")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "odd")

    ours.export(user.tree_of("HEAD"), tmp_path / "out")

    assert (tmp_path / "out/sub/data.txt").read_bytes() == b"one\ntwo\n"
    assert os.access(tmp_path / "out/run.sh", os.X_OK)
    assert (tmp_path / "out/link").readlink() == Path("app.py")
    assert not (tmp_path / "out/.git").exists()
    assert [entry.name for entry in tmp_path.iterdir() if "index" in entry.name] == []


def test_the_users_configuration_runs_nothing(checkout: Path, tmp_path: Path, git: Git) -> None:
    """Hooks, filters, fsmonitor, external diffs, aliases: whatever a repository brings."""
    mark = tmp_path / "EXECUTED"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    evil.chmod(0o755)
    (checkout / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "attributes")
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
                "diff.evil.command", "diff.evil.textconv", "diff.external", "core.pager",
                "core.editor", "credential.helper", "gpg.program", "core.sshCommand",
                "alias.write-tree", "alias.status"):
        git(checkout, "config", key, str(evil))
    hooks = checkout / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-index-change", "pre-commit", "post-checkout"):
        (hooks / name).write_text(evil.read_text())
        (hooks / name).chmod(0o755)
    user = open_checkout(checkout)
    work = tmp_path / "work"
    work.mkdir()
    create(tmp_path / "repo.git", user)
    ours = Repo(tmp_path / "repo.git", work, tmp_path / "repo.git/our.index")

    base = user.commit("HEAD")
    ours.git("read-tree", "--reset", "-u", base)
    (work / "app.py").write_text("changed")
    ours.git("add", "--all", "--", ".")
    tree = ours.git("write-tree").decode().strip()
    made = ours.commit_tree(tree, base, "m", identity_of(user, tmp_path), MORNING)
    ours.changed(base, made)
    ours.export(made, tmp_path / "out")
    take_objects(user, ours, made, [base])
    assert user.move_ref("refs/heads/oneshot/x", made, ABSENT)

    assert not mark.exists()


def test_inherited_git_variables_do_not_redirect_us(
        checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Git) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")

    assert open_checkout(checkout).commit("HEAD") == git(checkout, "rev-parse", "main")


def test_the_identity_is_the_users_or_ours(checkout: Path, git: Git, tmp_path: Path) -> None:
    user = open_checkout(checkout)
    assert identity_of(user, tmp_path) == Identity("oneshot", "oneshot@localhost")
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    assert identity_of(user, tmp_path) == Identity("Ada", "ada@example.org")
    git(checkout, "config", "user.name", "Grace")
    assert identity_of(user, tmp_path) == Identity("Grace", "ada@example.org")
    git(checkout, "config", "user.name", "...")  # git takes no name without a letter
    assert identity_of(user, tmp_path) == Identity("oneshot", "ada@example.org")


def test_a_failing_git_says_what_git_said(user: Repo) -> None:
    with pytest.raises(WorldError, match=r"git rev-parse --verify failed: .*Needed a single rev"):
        user.commit("no-such-branch")


def test_a_sha_256_repository_is_borrowed_from_as_well(tmp_path: Path, git: Git) -> None:
    folder = tmp_path / "sha256"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    (folder / "a").write_text("x")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    user = open_checkout(folder)
    base = user.commit("HEAD")
    create(tmp_path / "repo.git", user)
    (tmp_path / "work").mkdir()
    ours = Repo(tmp_path / "repo.git", tmp_path / "work", tmp_path / "repo.git/w.index")

    made = ours.commit_tree(ours.tree_of(base), base, "m", Identity(), MORNING)

    take_objects(user, ours, made, [base])
    assert user.move_ref("refs/heads/oneshot/x", made, ABSENT)
    assert git(folder, "rev-parse", "oneshot/x") == made


def test_whether_a_checkout_is_dirty_is_seen_without_running_its_filters(
        checkout: Path, tmp_path: Path, git: Git) -> None:
    user, mark = open_checkout(checkout), tmp_path / "EXECUTED"
    clean = is_dirty(user)
    git(checkout, "config", "filter.evil.clean", f"touch {mark}; cat")
    git(checkout, "config", "filter.evil.required", "true")
    (checkout / ".git/info").mkdir(exist_ok=True)
    (checkout / ".git/info/attributes").write_text("* filter=evil\n")
    (checkout / "app.py").write_text("changed")

    assert (clean, is_dirty(user)) == (False, True)
    assert not mark.exists()


def test_an_identity_in_another_encoding_stops_nothing(checkout: Path, tmp_path: Path) -> None:
    with (checkout / ".git/config").open("ab") as config:
        config.write(b"[user]\n\tname = J\xf6rg\n")

    assert identity_of(open_checkout(checkout), tmp_path).name == "J\ufffdrg"


def test_a_ref_is_the_same_read_from_its_file_packed_or_loose_or_in_a_linked_worktree(
        checkout: Path, git: Git, tmp_path: Path) -> None:
    first = git(checkout, "rev-parse", "main")
    git(checkout, "branch", "other")
    git(checkout, "pack-refs", "--all")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "second")
    git(checkout, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), first)
    linked = open_checkout(tmp_path / "linked").git_dir

    for git_dir in (checkout / ".git", linked):
        assert read_ref(git_dir, "refs/heads/main") == git(checkout, "rev-parse", "main")
        assert read_ref(git_dir, "refs/heads/other") == first
        assert read_ref(git_dir, "refs/heads/none") == ""
    assert (head_id(checkout / ".git"), head_id(linked)) == (
        git(checkout, "rev-parse", "main"), first)


def test_what_only_git_can_tell_of_a_ref_is_asked_of_git(checkout: Path, git: Git) -> None:
    git(checkout, "symbolic-ref", "refs/heads/alias", "refs/heads/main")

    assert read_ref(checkout / ".git", "refs/heads/alias") is None
    assert open_checkout(checkout).ref("refs/heads/alias") == git(checkout, "rev-parse", "main")
    (checkout / ".git/reftable").mkdir()
    assert read_ref(checkout / ".git", "refs/heads/main") is None


@pytest.mark.parametrize(("made", "says"), [
    (".git/MERGE_HEAD", "a merge is under way in your checkout"),
    (".git/rebase-merge/x", "a rebase is under way in your checkout"),
    (".git/shallow", "your clone is shallow"),
], ids=["merge", "rebase", "shallow"])
def test_what_is_out_of_the_ordinary_is_noticed(checkout: Path, made: str, says: str) -> None:
    (checkout / made).parent.mkdir(exist_ok=True)
    (checkout / made).write_text("")

    (note,) = noticed(open_checkout(checkout))

    assert note.startswith(says)
    assert under_way(checkout / ".git") in says or "shallow" in made


def test_submodules_and_files_of_lfs_are_noticed(checkout: Path, git: Git) -> None:
    (checkout / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    git(checkout, "add", ".gitattributes")
    git(checkout, "update-index", "--add", "--cacheinfo",
        f"160000,{git(checkout, 'rev-parse', 'main')},vendored")
    git(checkout, "commit", "-q", "-m", "odd")

    modules, lfs = noticed(open_checkout(checkout))

    assert modules == "1 submodules are empty folders in the run's worktree"
    assert lfs.startswith("files that Git LFS keeps are pointers")


def test_a_partial_clone_whose_objects_are_elsewhere_is_refused(
        checkout: Path, git: Git, tmp_path: Path) -> None:
    git(checkout, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{checkout}",
        "part")

    assert "objects of the last Git commit are not here (a partial clone)" in refused(
        open_checkout(tmp_path / "part"))
    assert refused(open_checkout(checkout)) == ""
