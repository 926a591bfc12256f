"""What is known already is answered from the record, marked as such; everything else is done."""

import pytest

from controller.core.canonical import JsonObject
from tests.cli.conftest import Shop


def step(action: JsonObject) -> JsonObject:
    return {"action": action}


def run(line: str, **more: bool) -> JsonObject:
    return step({"kind": "run", "shell": line, **more})


READ = step({"kind": "read", "files": [{"path": "README.md"}]})
TEST = "date +%N; false"
WRITE = step({"kind": "edit", "changes": [{"op": "write", "path": "n.txt", "content": "n\n"}]})


@pytest.fixture
def tested(shop: Shop) -> Shop:
    """A project whose criterion is checked by a command that never says the same."""
    import subprocess

    shop.contract("intent-contract.yaml", "goal: Repeat.\nsuccess_criteria:\n"
                  f"  c: {{check: {{shell: '{TEST}'}}}}\n")
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "x"],
                   cwd=shop.repo, check=True, env=shop.env)
    return shop


def observed(shop: Shop, *replies: JsonObject) -> list[str]:
    """What each step was shown."""
    ran = shop.oneshot("run", "--cassette", str(shop.replies(*replies)), "--steps",
                       str(len(replies)))
    assert ran.code in (3, 5), ran.err
    return [shop.oneshot("show", str(number), "--observation").out
            for number in range(1, len(replies) + 1)]


@pytest.mark.parametrize(("replies", "known"), [
    ([READ, READ], True), ([READ, WRITE, READ], False), ([READ, run("true"), READ], False),
    ([run(TEST), run(TEST)], True), ([run(TEST), run(TEST, force=True)], False),
    ([run(TEST), READ, run(TEST)], True), ([run(TEST), WRITE, run(TEST)], False),
    ([run(TEST), run("true"), run(TEST)], False), ([run(f"{TEST} "), run(f"{TEST} ")], False),
    ([run("date +%N"), run("date +%N")], False),
], ids=["read", "changed", "command-between", "test", "force", "read-between", "test-changed",
        "test-command-between", "another-line", "unknown-command"])
def test_the_same_over_the_same_files_is_known(
        tested: Shop, replies: list[JsonObject], known: bool) -> None:
    first, *_, last = observed(tested, *replies)

    assert last.strip().startswith("Known from step 1") is known
    if known:
        assert first.strip() in last


def test_a_repeat_is_still_no_progress(tested: Shop) -> None:
    ran = tested.oneshot("run", "--cassette", str(tested.replies(*[READ] * 5)))

    assert ran.code == 5
    assert "three times" in ran.out or "same" in ran.out


def test_a_file_that_git_does_not_know_is_read_again_when_it_has_changed(quick: Shop) -> None:
    wanted = step({"kind": "read", "files": [{"path": "node_modules/x"}]})
    cassette = str(quick.replies(run("mkdir node_modules; echo one > node_modules/x"),
                                 wanted, wanted, wanted))
    quick.oneshot("run", "--steps", "2", "--cassette", cassette)
    (quick.worktree / "node_modules/x").write_text("two\n")
    ran = quick.oneshot("resume", "--steps", "2", "--cassette", cassette)

    assert ran.code == 3, ran.err
    shown = [quick.oneshot("show", str(number), "--observation").out for number in (2, 3, 4)]
    assert ["one" in shown[0], "two" in shown[1], "Known from step 3" in shown[2]] == [True] * 3
