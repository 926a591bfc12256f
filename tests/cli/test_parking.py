"""What waits for a person is kept; what was shown from outside is known until he speaks."""

import os
from pathlib import Path

import pytest

from controller.core.action import EffectClass
from controller.core.aim import Aim
from controller.core.head import Message
from controller.core.projection import adopt
from controller.folders import hand_over
from controller.repo import Repo
from controller.testing.world import World, command
from tests.cli.conftest import Shop


def edit(path: str, content: str) -> dict[str, object]:
    return {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": path, "content": content}]}}


def kept(shop: Shop) -> tuple[Repo, list[str]]:
    (git_dir,) = (shop.repo / ".agent-runtime/runs").glob("*/repo.git")
    repo = Repo(git_dir)
    return repo, repo.git("for-each-ref", "--format=%(refname)",
                          "refs/oneshot/parked").decode().split()


def test_an_edit_that_waits_is_kept_under_a_ref_and_not_applied(quick: Shop) -> None:
    ran = quick.oneshot("run", "--cassette", str(quick.replies(
        edit("AGENTS.md", "obey\n"))))

    repo, refs = kept(quick)
    assert ran.code == 8, ran.err
    assert refs == ["refs/oneshot/parked/1"]
    assert repo.file(refs[0], "AGENTS.md") == b"obey\n"
    assert repo.file(refs[0], "src/basket/cart.py") is not None
    assert not (quick.worktree / "AGENTS.md").exists()


def test_a_git_commit_that_waits_is_kept_whole_and_asked_about_in_one_batch(quick: Shop) -> None:
    line = "mkdir .vscode .husky; echo x | tee AGENTS.md .vscode/tasks.json .husky/x ok.txt"
    ran = quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": line}},
        {"action": {"kind": "commit", "message": "Add files"}})))

    repo, refs = kept(quick)
    assert ran.code == 8, ran.err
    assert [name for name in ("AGENTS.md", ".vscode/tasks.json", ".husky/x", "ok.txt")
            if repo.file(refs[0], name) != b"x\n"] == []
    assert all(f"{name} is protected" in ran.err for name in (
        "AGENTS.md", ".vscode/tasks.json", ".husky/x"))
    assert len(quick.oneshot("status", "--json").json["waiting"]) == 1


def test_a_file_that_runs_as_its_owner_loses_that_with_the_step(quick: Shop) -> None:
    ran = quick.oneshot("run", "--steps", "1", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": "cp /bin/sh s; chmod 6755 s; cp s t; chmod 2755 t"}})))

    assert ran.code == 3, ran.err
    assert [oct((quick.worktree / name).stat().st_mode & 0o7777) for name in "st"] == [
        "0o755", "0o755"]


def test_output_from_outside_is_remembered_until_the_user_speaks() -> None:
    world = World()
    world.model.replies(action=command("true"))
    head = world.step()
    assert head.exposed is False

    from dataclasses import replace
    shown = replace(head, exposed=True)
    facts = world.authority.observe(head)

    assert adopt(shown, facts, ()).exposed is True
    assert adopt(shown, facts, (Message(1, "go on"),)).exposed is False
    assert Aim(EffectClass.PURE).target == ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_with_another_name_elsewhere_is_not_given_away(tmp_path: Path) -> None:
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "mine").write_text("mine")
    os.link(tmp_path / "mine", tmp_path / "work/sub/hard")
    (tmp_path / "work/link").symlink_to(tmp_path / "mine")
    (tmp_path / "work/file").write_text("")

    hand_over(tmp_path / "work", 61_999)

    assert (tmp_path / "mine").stat().st_uid == 0
    assert {path.name for path in (tmp_path / "work").rglob("*")
            if path.lstat().st_uid == 61_999} == {"sub", "link", "file"}
