"""What each action does to a real worktree, and what it shows."""

import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.core.canonical import JsonObject
from controller.core.errors import MachineFault
from controller.core.head import Stop
from controller.core.observation import LIMIT
from controller.core.records import Status
from controller.processes import marked
from controller.testing.clock import MORNING
from tests.bench import Bench
from tests.conftest import Git

TOKEN = "ghp_" + "a" * 36


def replace(path: str, old: str, new: str) -> JsonObject:
    return {"op": "replace", "path": path, "old": old, "new": new}


def write(path: str, content: str) -> JsonObject:
    return {"op": "write", "path": path, "content": content}


def edit(*changes: JsonObject) -> JsonObject:
    return {"kind": "edit", "changes": list(changes)}


def run(shell: str, **more: int) -> JsonObject:
    return {"kind": "run", "shell": shell, **more}


def read(path: str, **more: int) -> JsonObject:
    return {"kind": "read", "files": [{"path": path, **more}]}


def test_read_shows_lines_with_their_numbers(bench: Bench) -> None:
    outcome = bench.perform(read("sub/data.txt"))

    assert outcome.text == "sub/data.txt, lines 1 to 2 of 2\n1| one\n2| two"


def test_read_shows_the_range_and_what_is_left(bench: Bench) -> None:
    (bench.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))

    some = bench.perform(read("long.txt", first=10, last=11))
    much = bench.perform(read("long.txt"))

    assert some.text == "long.txt, lines 10 to 11 of 5000\n10| line 10\n11| line 11"
    assert len(much.text.encode()) <= LIMIT
    assert "of 5000; read on from " in much.text.splitlines()[0]


@pytest.mark.parametrize(("path", "said"), [
    ("sub/date.txt", "there is no file sub/date.txt; beside it: data.txt"),
    ("nowhere/x", "there is no file nowhere/x; there is no folder nowhere either"),
    ("sub", "sub is a folder, not a file"),
    ("link", "link is a symbolic link, not a file"),
    ("linked/x", "linked is a symbolic link; name its target"),
    ("bin", "bin is binary, 3 bytes"),
    ("pipe", "pipe is a special file, not a file"),
], ids=["missing", "no-folder", "folder", "link", "through-a-link", "binary", "fifo"])
def test_read_says_what_is_there_instead(bench: Bench, path: str, said: str) -> None:
    (bench.root / "link").symlink_to("/etc/hostname")
    (bench.root / "linked").symlink_to("/etc")
    (bench.root / "bin").write_bytes(b"a\0b")
    os.mkfifo(bench.root / "pipe")

    outcome = bench.perform(read(path))

    assert (outcome.status, outcome.text) == (Status.DONE, said)


def test_search_finds_lines_and_skips_what_git_ignores(bench: Bench) -> None:
    (bench.root / "trace.log").write_text("def add\n")
    (bench.root / "new.py").write_text("x = 1\ndef add_more(): ...\n")

    outcome = bench.perform({"kind": "search", "pattern": r"def add\w*", "glob": "*.py"})

    assert outcome.text == "2 lines:\napp.py:1: def add(a, b):\nnew.py:2: def add_more(): ..."


def test_search_without_a_pattern_lists_files(bench: Bench) -> None:
    outcome = bench.perform({"kind": "search", "glob": "**/*.py"})

    assert outcome.text == "2 files:\napp.py\ntests/test_app.py"


def test_search_says_when_there_is_nothing(bench: Bench) -> None:
    outcome = bench.perform({"kind": "search", "pattern": "nothing like this"})

    assert outcome.text == "no line matches 'nothing like this' in **"


def test_a_pattern_that_would_take_for_ever_is_given_up_by_the_engine(bench: Bench) -> None:
    (bench.root / "evil.txt").write_text("a" * 5000 + "!\n")

    outcome = bench.perform({"kind": "search", "pattern": "(a+)+$"})

    assert (outcome.status, "git grep" in outcome.text) == (Status.FAILED, True)


def test_edit_changes_several_files_and_runs_its_check(bench: Bench) -> None:
    (bench.root / "app.py").chmod(0o755)

    outcome = bench.perform({**edit(
        replace("app.py", "a - b", "a + b"), write("docs/new.md", "# New\n"),
        {"op": "move", "path": "sub/data.txt", "to": "data/moved.txt"},
        {"op": "delete", "path": "tests/test_app.py"}), "check": {"shell": "cat app.py; exit 3"}})

    assert outcome.status is Status.DONE
    assert (bench.root / "app.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert stat.S_IMODE((bench.root / "app.py").stat().st_mode) == 0o755
    assert (bench.root / "data/moved.txt").read_text() == "one\ntwo\n"
    assert not (bench.root / "sub/data.txt").exists()
    assert not (bench.root / "tests/test_app.py").exists()
    assert "exit 3" in outcome.text
    assert outcome.source.tree == bench.place.snapshots.take().tree


@pytest.mark.parametrize(("change", "said"), [
    (replace("app.py", "a * b", "x"), "expected `old` exactly once, found it 0 times; read the"),
    (replace("app.py", "a", "x"), "found it 3 times; add lines around it"),
    (replace("app.py", "def  add(a,  b):\n  return a - b", "x"),
     "with other white space it stands at line 1"),
    (replace("none.py", "a", "x"), "there is no file none.py"),
    ({"op": "move", "path": "app.py", "to": "sub/data.txt"}, "there is something at sub/data.txt"),
    ({"op": "delete", "path": "sub"}, "sub is a folder, not a file"),
    (write("link", "x"), "link is a symbolic link, not a file"),
    (write("linked/x", "x"), "linked is a symbolic link; name its target"),
    (write("sub/data.txt/x", "x"), "sub/data.txt is a file, not a folder"),
    (write("hard", "x"), "has other names (hard links)"),
], ids=["absent", "ambiguous", "white-space", "no-file", "occupied", "folder", "link",
        "through-a-link", "below-a-file", "hard-link"])
def test_an_edit_that_cannot_be_done_changes_nothing(
        bench: Bench, change: JsonObject, said: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("mine")
    (bench.root / "linked").symlink_to(outside)
    (bench.root / "link").symlink_to(outside / "x")
    os.link(outside / "x", bench.root / "hard")
    before = bench.place.snapshots.take()

    outcome = bench.perform(edit(write("first.txt", "written before it"), change))

    assert (outcome.status, outcome.source.snapshot) == (Status.FAILED, before)
    assert said in outcome.text
    assert bench.place.snapshots.take() == before
    assert not (bench.root / "first.txt").exists()
    assert (outside / "x").read_text() == "mine"


def test_edit_keeps_line_endings(bench: Bench) -> None:
    (bench.root / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")

    bench.perform(edit(replace("dos.txt", "one\ntwo\n", "1\n2\n")))

    assert (bench.root / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_new_lines_in_a_file_end_as_its_old_ones_do(bench: Bench) -> None:
    (bench.root / "dos.txt").write_bytes(b"one\r\ntwo\r\n")

    bench.perform(edit(replace("dos.txt", "two", "2\n3")))

    assert (bench.root / "dos.txt").read_bytes() == b"one\r\n2\r\n3\r\n"


def test_a_moved_file_keeps_its_mode_and_a_link_can_be_removed(bench: Bench) -> None:
    (bench.root / "run.sh").write_text("#!/bin/sh\n")
    (bench.root / "run.sh").chmod(0o755)
    (bench.root / "link").symlink_to("/etc/passwd")

    outcome = bench.perform(edit({"op": "move", "path": "run.sh", "to": "bin/run"},
                                 {"op": "delete", "path": "link"}))

    assert outcome.status is Status.DONE
    assert stat.S_IMODE((bench.root / "bin/run").stat().st_mode) == 0o755
    assert not (bench.root / "link").is_symlink()
    assert Path("/etc/passwd").exists()


def test_read_and_search_count_lines_alike(bench: Bench) -> None:
    (bench.root / "odd.txt").write_text("one\x0c\u2028\x85still one\ntwo needle\n")

    found = bench.perform({"kind": "search", "pattern": "needle"})
    shown = bench.perform(read("odd.txt", first=2, last=2))

    assert "odd.txt:2: two needle" in found.text
    assert shown.text == "odd.txt, lines 2 to 2 of 2\n2| two needle"


def test_search_takes_any_file_name_and_any_amount(bench: Bench) -> None:
    (bench.root / "new\nline.txt").write_text("needle\n")
    (bench.root / "much.txt").write_text(("hay" + "x" * 10_000 + "\n") * 3000)

    odd = bench.perform({"kind": "search", "pattern": "needle"})
    much = bench.perform({"kind": "search", "pattern": "hay"})

    assert odd.text == '1 line:\n"new\\nline.txt":1: needle'
    assert much.status is Status.DONE
    assert len(much.text.encode()) < 60_000


def test_changes_of_one_edit_follow_each_other(bench: Bench) -> None:
    outcome = bench.perform(edit(write("a.txt", "one"), replace("a.txt", "one", "two"),
                                 {"op": "move", "path": "a.txt", "to": "b.txt"}))

    assert outcome.status is Status.DONE
    assert (bench.root / "b.txt").read_text() == "two"
    assert not (bench.root / "a.txt").exists()


def test_run_shows_the_command_its_end_and_its_output(bench: Bench) -> None:
    outcome = bench.perform(run("echo out; echo err >&2; exit 7"))

    assert (outcome.status, outcome.text) == (
        Status.DONE, "$ echo out; echo err >&2; exit 7\nexit 7\nout\nerr")
    assert outcome.output == b"out\nerr\n"


def test_a_command_finds_nothing_of_the_users_environment(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "CANARY")
    monkeypatch.setenv("SECRET", "CANARY")

    outcome = bench.perform(run("env; cat; echo $HOME; ls -A $HOME"))

    assert "CANARY" not in outcome.text
    assert "exit 0" in outcome.text
    assert "HOME=/home/oneshot\n" in outcome.text
    assert outcome.text.endswith("\n/home/oneshot")


def test_long_output_is_cut_in_the_middle_and_kept_whole(bench: Bench) -> None:
    outcome = bench.perform(run("seq 1 20000"))

    assert len(outcome.text.encode()) <= LIMIT
    assert "\n1\n2\n3\n" in outcome.text
    assert outcome.text.endswith("19999\n20000")
    assert "left out; whole: recall " in outcome.text
    assert outcome.output == b"".join(b"%d\n" % n for n in range(1, 20001))


@pytest.mark.parametrize(("action", "said"), [
    (run("sleep 60", timeout=1), "it timed out"),
    (run("sleep 60 & sleep 60 & wait", timeout=1), "it timed out"),
    (run("trap '' TERM; sleep 60", timeout=1), "it timed out"),
    (run("yes"), "it said too much"),
    (run("kill -SEGV $$"), "exit 139"),
    (run("sleep 60 &"), "exit 0"),
], ids=["hangs", "hangs-in-children", "ignores-term", "floods", "dies", "leaves-a-child"])
def test_a_command_comes_to_an_end(bench: Bench, action: JsonObject, said: str) -> None:
    outcome = bench.perform(action)

    assert outcome.status is Status.DONE
    assert said in outcome.text
    assert marked(bench.place.shell.mark) == ()


def test_a_program_that_is_not_there_is_a_failed_action(bench: Bench) -> None:
    outcome = bench.perform({"kind": "run", "argv": ["no-such-program", "x"]})

    assert outcome.status is Status.FAILED
    assert "no-such-program: No such file or directory; PATH is /usr/local/sbin" in outcome.text


def test_secrets_and_control_characters_go_no_further(bench: Bench) -> None:
    outcome = bench.perform(run(f"printf 'a\\033[31mred\\033[0m {TOKEN}\\r\\n'"))

    assert outcome.text.endswith("ared [redacted: github token]")
    assert TOKEN.encode() not in outcome.output


def test_a_commit_is_delivered_to_the_users_repository(
        bench: Bench, checkout: Path, git: Git) -> None:
    (bench.root / "new.txt").write_text("new\n")

    outcome = bench.perform({"kind": "commit", "message": "Add new\n\nBody."})

    assert outcome.status is Status.DONE
    made = git(checkout, "rev-parse", "oneshot/run-1")
    assert outcome.source.head == made
    assert git(checkout, "log", "-1", "--format=%B", made).startswith(
        "Add new\n\nBody.\n\nOneshot-Run: run-1\nOneshot-Step: 4")
    assert git(checkout, "diff", "--name-only", "main", made) == "new.txt"
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "symbolic-ref", "HEAD") == "refs/heads/main"
    git(checkout, "fsck", "--strict")


def test_doing_a_commit_again_changes_nothing(bench: Bench, checkout: Path, git: Git) -> None:
    (bench.root / "new.txt").write_text("new\n")
    effect = bench.effect({"kind": "commit", "message": "Add new"})
    first = bench.hands.perform(effect)

    again = bench.resume(effect)

    assert again == first
    assert git(checkout, "rev-list", "--count", "main..oneshot/run-1") == "1"


def test_a_branch_that_somebody_moved_is_left_alone(
        bench: Bench, checkout: Path, git: Git) -> None:
    theirs = git(checkout, "commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
    git(checkout, "branch", "oneshot/run-1", theirs)
    (bench.root / "new.txt").write_text("new\n")

    outcome = bench.perform({"kind": "commit", "message": "Add new"})

    assert outcome.status is Status.FAILED
    assert "somebody else has moved oneshot/run-1" in outcome.text
    assert git(checkout, "rev-parse", "oneshot/run-1") == theirs
    assert (bench.root / "new.txt").exists()

    git(checkout, "branch", "-D", "oneshot/run-1")
    assert bench.perform({"kind": "commit", "message": "Add new"}).status is Status.DONE


def test_a_branch_at_the_base_is_no_obstacle(bench: Bench, checkout: Path, git: Git) -> None:
    git(checkout, "branch", "oneshot/run-1", "main")
    (bench.root / "new.txt").write_text("new\n")

    assert bench.perform({"kind": "commit", "message": "Add new"}).status is Status.DONE


def test_a_branch_that_a_person_has_checked_out_is_not_moved_under_him(
        bench: Bench, checkout: Path, git: Git) -> None:
    git(checkout, "checkout", "-q", "-b", "oneshot/run-1")
    (bench.root / "new.txt").write_text("new\n")

    outcome = bench.perform({"kind": "commit", "message": "Add new"})

    assert (outcome.status, outcome.stopped and outcome.stopped.why) == (Status.FAILED, Stop.STUCK)
    assert "is checked out in a worktree of yours" in outcome.text
    assert git(checkout, "status", "--porcelain") == ""


def test_a_branch_that_is_locked_gets_the_commit_once_the_lock_is_gone(
        bench: Bench, checkout: Path) -> None:
    (bench.root / "new.txt").write_text("new\n")
    locks = [folder / "refs/heads/oneshot/run-1.lock"
             for folder in (checkout / ".git", bench.place.snapshots.repo.git_dir)]
    for lock in locks:  # ours is a killed git's, the user's may be held by a living one
        lock.parent.mkdir()
        lock.write_text("")

    with pytest.raises(MachineFault, match=r"run-1\.lock"):  # no action of a model's can help
        bench.perform({"kind": "commit", "message": "Add new"})
    locks[0].unlink()
    again = bench.perform({"kind": "commit", "message": "Add new"})

    assert again.status is Status.DONE


def test_a_branch_that_the_user_removed_is_delivered_again(
        bench: Bench, checkout: Path, git: Git) -> None:
    (bench.root / "new.txt").write_text("new\n")
    made = bench.perform({"kind": "commit", "message": "Add new"}).source.head
    git(checkout, "branch", "-D", "oneshot/run-1")

    outcome = bench.perform({"kind": "commit", "message": "Once more"})

    assert (outcome.status, outcome.source.head) == (Status.DONE, made)
    assert git(checkout, "rev-parse", "oneshot/run-1") == made

    git(checkout, "branch", "-D", "oneshot/run-1")
    (bench.root / "more.txt").write_text("more\n")
    later = bench.perform(  # the next one as well, on top of what was there
        {"kind": "commit", "message": "More"})
    assert later.status is Status.DONE
    assert git(checkout, "rev-parse", "oneshot/run-1~1") == made


def test_a_repository_in_the_worktree_is_not_committed_as_an_empty_link(
        bench: Bench, git: Git) -> None:
    git(bench.root, "init", "-q", "nested")
    (bench.root / "nested/a.txt").write_text("lost if committed")
    git(bench.root / "nested", "add", "-A")
    git(bench.root / "nested", "commit", "-q", "-m", "theirs")

    outcome = bench.perform({"kind": "commit", "message": "Add nested"})

    assert outcome.status is Status.FAILED
    assert outcome.text.startswith("nested: a Git repository of its own")


def test_a_submodule_is_not_moved_to_a_git_commit_that_nobody_has(
        bench: Bench, git: Git) -> None:
    git(bench.root, "init", "-q", "nested")
    git(bench.root / "nested", "commit", "-q", "--allow-empty", "-m", "one")
    repo = bench.place.snapshots.repo
    effect = bench.effect({"kind": "commit", "message": "Move it"})
    base = repo.commit_tree(effect.source.tree, effect.source.base, "with a submodule",
                            bench.place.identity, MORNING)
    git(bench.root / "nested", "commit", "-q", "--allow-empty", "-m", "two")
    source = dataclasses.replace(effect.source, head=base, base=base,
                                 tree=bench.place.snapshots.take().tree,
                                 head_tree=effect.source.tree)

    outcome = bench.hands.perform(dataclasses.replace(effect, source=source))

    assert outcome.text.startswith("nested: a Git repository of its own")


def test_what_a_resume_finds_is_not_undone_before_it_is_kept(bench: Bench) -> None:
    effect = bench.effect(run("true"))
    repo = bench.place.snapshots.repo
    (bench.root / "app.py").write_text("somebody's work")
    ref = f"refs/oneshot/found/{effect.id}/{bench.place.snapshots.take().tree}"
    lock = repo.git_dir / f"{ref}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("")  # a killed git's

    bench.resume(effect)

    entry = repo.entry(repo.ref(ref) or "", "app.py")
    assert entry
    assert repo.git("cat-file", "blob", entry.id) == b"somebody's work"


def test_an_edit_is_kept_when_its_check_cannot_start(bench: Bench) -> None:
    outcome = bench.perform({**edit(write("new.txt", "new")), "check": {"argv": ["no-such"]}})

    assert outcome.status is Status.DONE
    assert "could not be started: no-such" in outcome.text
    assert (bench.root / "new.txt").read_text() == "new"


def test_a_person_agrees_to_the_edit_and_not_to_what_its_check_makes_of_it(bench: Bench) -> None:
    effect = bench.effect({**edit(write("app.py", "agreed")), "check": {
        "shell": "echo cheat > app.py"}})

    outcome = bench.hands.perform(dataclasses.replace(effect, grant="c1"))

    entry = bench.place.snapshots.repo.entry(outcome.agreed, "app.py")
    assert entry
    assert outcome.agreed != outcome.source.tree
    assert bench.place.snapshots.repo.git("cat-file", "blob", entry.id) == b"agreed"


def test_there_is_nothing_to_commit_when_nothing_changed(bench: Bench) -> None:
    outcome = bench.perform({"kind": "commit", "message": "Nothing"})

    assert (outcome.status, outcome.text) == (
        Status.FAILED, "there is nothing to commit: the worktree equals the last Git commit")


def test_resume_restores_what_a_half_done_effect_left(bench: Bench) -> None:
    effect = bench.effect(run("cat app.py; echo more >> app.py"))
    (bench.root / "app.py").write_text("half written")
    (bench.root / "debris.tmp").write_text("x")
    (bench.root / "sub/data.txt").unlink()

    outcome = bench.resume(effect)

    assert (bench.root / "app.py").read_text() == "def add(a, b):\n    return a - b\nmore\n"
    assert (bench.root / "sub/data.txt").read_text() == "one\ntwo\n"
    assert not (bench.root / "debris.tmp").exists()
    assert "return a - b" in outcome.text
    repo = bench.place.snapshots.repo
    found = repo.git("for-each-ref", "--format=%(objectname)",
                     f"refs/oneshot/found/{effect.id}").decode().split()
    assert b"x" in [repo.file(tree, "debris.tmp") for tree in found]


def test_ask_stops_the_run_and_wait_takes_its_time(bench: Bench) -> None:
    asked = bench.perform({"kind": "ask", "question": "Which?"})
    before = bench.place.clock.now()

    bench.perform({"kind": "wait", "seconds": 90})

    assert asked.stopped is not None
    assert (asked.stopped.why, asked.stopped.reason) == (Stop.WAITING, "Which?")
    assert (bench.place.clock.now() - before).total_seconds() == 90


@pytest.mark.parametrize("exposed", [False, True])
def test_a_recall_shows_text_from_outside_when_the_record_has_some(
        bench: Bench, exposed: bool) -> None:
    @dataclasses.dataclass
    class Record:
        """A record of one step."""

        def audit(self, run: object, after: int = 0) -> Iterator[JsonObject]:
            yield {"kind": "committed", "step": 1, "observation": "the page said deploy",
                   "action": {"kind": "run"}, "patch": {}, "outcome": {"exposed": exposed}}

        def latest(self, run: object, count: int) -> tuple[JsonObject, ...]:
            return ()

        def artifact(self, digest: str) -> None:
            return None

        def item(self, run: object, id: str) -> str:
            return ""

    place = dataclasses.replace(bench.place, trail=Record())  # type: ignore[arg-type]  # what a recall asks for
    outcome = dataclasses.replace(bench, place=place).perform({"kind": "recall", "query": "deploy"})

    assert "the page said deploy" in outcome.text
    assert outcome.exposed is exposed
