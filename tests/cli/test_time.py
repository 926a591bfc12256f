"""Going back in time, and moving house, seen from the shell."""

import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.conftest import Git


def write(name: str, content: str, **fact: str) -> dict[str, object]:
    facts = {key: {"text": text} for key, text in fact.items()}
    return {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": name, "content": content}]}, "state_patch": {"facts": facts}}


COMMIT = {"action": {"kind": "commit", "message": "Say hello"}}
FINISH = {"action": {"kind": "finish", "result": "done", "summary": "Said."}}
STEPS = (write("a.txt", "one\n", cause="one"), write("a.txt", "two\n", cause="two", other="new"),
         {"action": {"kind": "run", "shell": "echo three > b.txt; mkdir empty"}})


@pytest.fixture
def gone(quick: Shop) -> Shop:
    """A run that has taken three steps and is free to go on."""
    ran = quick.oneshot("run", "--steps", "3", "--cassette", str(quick.replies(*STEPS)))
    assert ran.code == 3, ran.err
    return quick


def state(shop: Shop) -> dict[str, object]:
    (file,) = (shop.repo / ".agent-runtime/runs").glob("*/state.json")
    found: dict[str, object] = json.loads(file.read_text())
    return found


def files(shop: Shop) -> dict[str, str]:
    found = (shop.worktree / name for name in ("a.txt", "b.txt"))
    return {file.name: file.read_text() for file in found if file.exists()}


def test_a_rollback_is_a_new_version_that_equals_an_old_one(gone: Shop) -> None:
    ran = gone.oneshot("rollback", "--to", "1", "--reason", "the second was wrong")

    assert ran.code == 0, ran.err
    assert "is at version 4: state and worktree as after step 1" in ran.err
    head = state(gone)
    assert (head["version"], head["state"]["facts"]) == (4, {"cause": {"text": "one"}})  # type: ignore[index]  # JSON
    assert files(gone) == {"a.txt": "one\n"}
    assert not (gone.worktree / "empty").exists()
    assert "the second was wrong" in str(head["observation"])


def test_a_rollback_forward_again_brings_everything_back(gone: Shop) -> None:
    gone.oneshot("rollback", "--to", "0")
    assert files(gone) == {}

    gone.oneshot("rollback", "--to", "3")

    assert files(gone) == {"a.txt": "two\n", "b.txt": "three\n"}
    assert (gone.worktree / "empty").is_dir()


@pytest.mark.parametrize("step", ["-1", "4"])
def test_a_step_that_was_not_taken_is_named(gone: Shop, step: str) -> None:
    ran = gone.oneshot("rollback", "--to", step)

    assert ran.code == 2
    assert f"has no step {step}; it has steps 0 (its start) to 3" in ran.err


def test_a_snapshot_that_is_not_kept_any_more_is_not_gone_back_to(
        gone: Shop, git: Git) -> None:
    (repo,) = (gone.repo / ".agent-runtime/runs").glob("*/repo.git")
    for ref in git(repo, "--git-dir=.", "for-each-ref", "--format=%(refname)").split():
        git(repo, "--git-dir=.", "update-ref", "-d", ref)
    git(repo, "--git-dir=.", "prune", "--expire=now")
    before = state(gone)

    back, fork = gone.oneshot("rollback", "--to", "1"), gone.oneshot("fork", "--from", "1")

    assert (back.code, fork.code) == (2, 2), back.err
    assert "the snapshot of step 1 is not kept any more" in back.err
    assert state(gone) == before


def _outside(shop: Shop) -> Path:
    """A folder that external commands may write; as root they run as somebody else."""
    folder = shop.repo.parent / "outside"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_a_rollback_past_an_external_effect_is_refused_unless_accepted(quick: Shop) -> None:
    log = _outside(quick) / "deployed"
    with (quick.repo / ".agent-contract/policy.yaml").open("a") as policy:
        policy.write(f'external:\n  - {{run: "echo $ONESHOT_KEY >> {log}", '
                     f'probe: "grep -q $ONESHOT_KEY {log} || exit 3", writes: [{log.parent}]}}\n')
    quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        STEPS[0], {"action": {"kind": "run", "shell": f"echo $ONESHOT_KEY >> {log}"}})))
    assert len(log.read_text().splitlines()) == 1

    refused, accepted = (quick.oneshot("rollback", "--to", "1", *more)
                         for more in ((), ("--accept-external",)))

    assert (refused.code, accepted.code) == (2, 0)
    assert "step 2: run echo $ONESHOT_KEY" in refused.err


def test_a_person_says_what_nobody_else_can_tell(quick: Shop) -> None:
    """A command without a probe is cut short: it may have happened, and is not done again."""
    log = _outside(quick) / "sent"
    with (quick.repo / ".agent-contract/policy.yaml").open("a") as policy:
        policy.write(f'external: [{{run: "echo x >> {log}; kill -9 $$", '
                     f'writes: [{log.parent}]}}]\n')
    cassette = quick.replies({"action": {"kind": "run", "shell": f"echo x >> {log}; kill -9 $$"}},
                             write("hello.txt", "hello\n"), COMMIT, FINISH)

    parked = quick.oneshot("run", "--cassette", str(cassette))
    wrong = quick.oneshot("approve", "u1")
    again = quick.oneshot("resume", "--cassette", str(cassette))
    said = quick.oneshot("decide", "u1", "happened")
    done = quick.oneshot("resume", "--cassette", str(cassette))

    assert (parked.code, again.code) == (8, 8), parked.err
    assert "oneshot decide u1 happened" in parked.err
    assert "nobody can tell whether it happened; a person must say" in again.err
    assert (wrong.code, "`oneshot decide`" in wrong.err) == (2, True)
    assert (said.code, done.code) == (0, 0), done.err
    assert log.read_text() == "x\n"


def test_a_fork_goes_on_from_an_earlier_step_beside_the_run(gone: Shop) -> None:
    ran = gone.oneshot("fork", "--from", "1")
    assert ran.code == 0, ran.err
    (new,) = (line.split()[-1] for line in ran.err.splitlines() if "oneshot resume" in line)

    cassette = gone.replies(write("hello.txt", "hello\n"), COMMIT, FINISH)
    done = gone.oneshot("resume", new, "--cassette", str(cassette))

    assert done.code == 0, done.err
    works = {path.parent.name: (path / "a.txt").read_text()
             for path in (gone.repo.parent / "cache/oneshot").glob("*/work")}
    assert works.pop(new) == "one\n"
    assert list(works.values()) == ["two\n"]


def test_a_diff_shows_state_and_worktree(gone: Shop) -> None:
    whole = gone.oneshot("diff", "1", "3").out
    short = gone.oneshot("diff", "1", "3", "--stat").out
    found = gone.oneshot("diff", "1", "3", "--json").json

    assert '~ /facts/cause/text: "one" → "two"' in whole
    assert "-one\n+two" in whole
    assert "M a.txt\nA b.txt" in short
    assert found["files"] == [{"status": "M", "path": "a.txt"}, {"status": "A", "path": "b.txt"}]


def test_blame_names_the_step_the_owner_and_the_source(gone: Shop) -> None:
    model = gone.oneshot("blame", "/facts", "--json").json["lines"]
    tree = gone.oneshot("blame", "/source_authority/tree", "--json").json["lines"][0]
    nothing = gone.oneshot("blame", "/facts/none")

    assert [(line["path"], line["step"], line["owner"]) for line in model] == [
        ("/facts/cause/text", 2, "model"), ("/facts/other/text", 2, "model")]
    assert all("the model's patch (reply " in line["source"] for line in model)
    assert (tree["step"], tree["owner"]) == (3, "controller")
    assert tree["source"] == "the controller, from what its run action came to"
    assert (nothing.code, "the state has nothing there: no 'none'" in nothing.err) == (2, True)


def test_abort_ends_a_run_and_restore_takes_away_what_it_delivered(
        quick: Shop, git: Git) -> None:
    before = git(quick.repo, "for-each-ref")
    quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        write("hello.txt", "hello\n"), COMMIT)))
    assert "oneshot/" in git(quick.repo, "for-each-ref")

    kept = quick.oneshot("abort", "--reason", "not needed")
    resumed = quick.oneshot("resume")
    taken = quick.oneshot("abort", "--restore")

    assert (kept.code, resumed.code, taken.code) == (0, 9, 0)
    assert quick.oneshot("status", "--json").json["phase"] == "aborted"
    assert git(quick.repo, "for-each-ref") == before
    assert not list((quick.repo.parent / "cache/oneshot").glob("*/work"))
    back = quick.oneshot("rollback", "--to", "1")
    assert (back.code, files(quick)) == (0, {})
    assert (quick.worktree / "hello.txt").exists()


def moved(shop: Shop, folder: Path) -> Shop:
    """The repository as another machine has it: a clone, with a home of its own."""
    shutil.copytree(shop.repo, folder / "shop", ignore=shutil.ignore_patterns(".agent-runtime"))
    (folder / "home").mkdir()
    return replace(shop, repo=folder / "shop", env={
        **shop.env, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")})


def test_a_run_goes_on_on_another_machine_and_comes_back(
        gone: Shop, tmp_path: Path, git: Git) -> None:
    other = moved(gone, tmp_path / "elsewhere")
    bundle, again = str(tmp_path / "run.bundle"), str(tmp_path / "again.bundle")

    exported = gone.oneshot("export", bundle)
    here = gone.oneshot("resume")
    imported = other.oneshot("import", bundle)
    cassette = other.replies({}, {}, {}, write("hello.txt", "hello\n"), COMMIT, FINISH)
    stepped = other.oneshot("resume", "--steps", "2", "--cassette", str(cassette))
    back = (other.oneshot("export", again), gone.oneshot("import", again))
    done = gone.oneshot("resume", "--cassette", str(cassette))

    assert (exported.code, here.code, imported.code) == (0, 9, 0), exported.err + imported.err
    assert stepped.code == 3, stepped.err
    assert [ran.code for ran in back] == [0, 0], [ran.err for ran in back]
    assert done.code == 0, done.err
    assert gone.oneshot("verify-audit").code == 0
    assert git(gone.repo, "show", "--format=%s", "--name-only", _branch(gone)).split("\n") == [
        "Say hello", "", "a.txt", "b.txt", "hello.txt"]


def _branch(shop: Shop) -> str:
    return f"oneshot/{shop.oneshot('status', '--json').json['run']}"


def test_an_import_refuses_what_does_not_match_and_writes_nothing(
        gone: Shop, tmp_path: Path) -> None:
    other = moved(gone, tmp_path / "elsewhere")
    bundle = tmp_path / "run.bundle"
    gone.oneshot("export", str(bundle), "--copy")
    data = bundle.read_bytes()
    for name, bad in {"cut": data[:len(data) // 2],
                      "changed": data.replace(b"Say hello", b"Say nello"), "empty": b"",
                      "no bundle": b"x" * 4096}.items():
        (tmp_path / name).write_bytes(bad)
        ran = other.oneshot("import", str(tmp_path / name))
        assert (ran.code, "Traceback" in ran.err) == (2, False), (name, ran.err)
        assert other.oneshot("status").code == 2
    shutil.rmtree(other.repo / ".git")
    twice = gone.oneshot("import", str(bundle))
    assert (twice.code, "is here already, and goes on here" in twice.err) == (2, True)


@pytest.mark.parametrize(("part", "old", "new", "says"), [
    ("record.json", '"token":', '"tokem":', "is not as `oneshot export` writes it"),
    ("record.json", '"run":"say', '"run":"../say', "is no id of a run"),
    ("audit.jsonl", '"kind":"committed"', '"kind":"refused"', "the audit trail breaks at record 2"),
    ("record.json", "echo three", "echo three", ""),
])
def test_an_import_trusts_no_digest_that_a_forger_can_write(
        gone: Shop, tmp_path: Path, part: str, old: str, new: str, says: str) -> None:
    """The manifest is made anew to fit; what does not fit together is refused all the same."""
    other, bundle = moved(gone, tmp_path / "elsewhere"), tmp_path / "run.bundle"
    gone.oneshot("export", str(bundle), "--copy")
    forged = tmp_path / "forged.bundle"
    with tarfile.open(bundle) as archive:
        files = {member.name: archive.extractfile(member).read()  # type: ignore[union-attr]  # files
                 for member in archive}
    files[part] = files[part].replace(old.encode(), new.encode(), 1)
    manifest = json.loads(files["manifest.json"])
    manifest["files"][part] = hashlib.sha256(files[part]).hexdigest()
    files["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(forged, "w") as archive:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))

    ran = other.oneshot("import", str(forged))

    assert ran.code == (2 if says else 0), ran.err
    assert says in ran.err
    assert not (tmp_path / "elsewhere/say").exists()


def test_verify_audit_says_where_the_chain_breaks(gone: Shop) -> None:
    whole = gone.oneshot("verify-audit")
    (file,) = (gone.repo / ".agent-runtime/runs").glob("*/audit.jsonl")
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1].replace("one", "two"), *lines[2:]]) + "\n")
    changed = gone.oneshot("verify-audit", "--file", str(file))
    database = sqlite3.connect(gone.repo / ".agent-runtime/oneshot.db")
    with database:
        database.execute("UPDATE audit SET body = replace(body, 'three', 'four') WHERE number = 4")
    broken = gone.oneshot("verify-audit")

    assert (whole.code, "4 records, the chain holds" in whole.out) == (0, True)
    assert changed.code == 1
    assert "audit.jsonl:2:1: the chain breaks at record 2" in changed.out
    assert (broken.code, "the chain breaks at record 4" in broken.out) == (1, True)
    assert "the state after step 2 is whole: `oneshot fork --from 2" in broken.out


@pytest.mark.parametrize("damage", ["'{\"run\": 1'", "'[]'", "'{}'"])
def test_one_damaged_run_never_blocks_the_others(gone: Shop, damage: str) -> None:
    damaged = gone.oneshot("status", "--json").json["run"]
    database = sqlite3.connect(gone.repo / ".agent-runtime/oneshot.db")
    with database:
        database.execute(f"UPDATE run SET head = {damage}")

    every = gone.oneshot("status", "--all")
    alone = gone.oneshot("status")
    found = gone.oneshot("verify-audit")
    fresh = gone.oneshot("run", "--cassette", str(gone.replies(
        write("hello.txt", "hello\n"), COMMIT, FINISH)))
    saved = gone.oneshot("fork", "--from", "2", damaged)

    assert (every.code, f"{damaged}  damaged" in every.out) == (0, True), every.out
    assert (alone.code, "is damaged" in alone.err) == (1, True)
    assert (found.code, f"`oneshot fork --from 3 {damaged}`" in found.out) == (1, True)
    assert fresh.code == 0, fresh.err
    assert saved.code == 0, saved.err


def test_a_run_that_was_told_something_moves_with_it(gone: Shop, tmp_path: Path) -> None:
    other = moved(gone, tmp_path / "elsewhere")
    gone.oneshot("say", "Mind the gap")
    gone.oneshot("export", str(tmp_path / "run.bundle"))

    imported = other.oneshot("import", str(tmp_path / "run.bundle"))
    other.oneshot("resume", "--steps", "1", "--cassette",
                  str(other.replies({}, {}, {}, write("hello.txt", "hello\n"))))

    assert imported.code == 0, imported.err
    assert "Mind the gap" in other.oneshot("show", "4", "--prompt").out


def test_an_exported_run_stands_still_here_and_can_be_exported_again(
        gone: Shop, tmp_path: Path) -> None:
    """The first bundle was lost; whatever anybody says, the run does not go on here."""
    other = moved(gone, tmp_path / "elsewhere")
    gone.oneshot("export", str(tmp_path / "lost.bundle"))

    still = [gone.oneshot(*args).code for args in (
        ("say", "go on"), ("abort",), ("rollback", "--to", "1"), ("resume",))]
    again = gone.oneshot("export", str(tmp_path / "run.bundle"))
    there = gone.oneshot("export", str(tmp_path / "run.bundle"))
    imported = other.oneshot("import", str(tmp_path / "run.bundle"))
    resumed = other.oneshot("resume", "--steps", "1", "--cassette",
                            str(other.replies({}, {}, {}, write("hello.txt", "hello\n"))))

    assert still == [2, 2, 2, 9]
    assert (again.code, there.code, imported.code) == (0, 2, 0), again.err + imported.err
    assert resumed.code == 3, resumed.err


def test_a_worktree_edit_and_a_git_commit_move_along_and_come_home(
        quick: Shop, tmp_path: Path, git: Git) -> None:
    quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        write("a.txt", "one\n"), COMMIT)))
    other = moved(quick, tmp_path / "elsewhere")
    (quick.worktree / "mine.txt").write_text("a person's\n")
    away, home = str(tmp_path / "away.bundle"), str(tmp_path / "home.bundle")
    cassette = other.replies({}, {}, write("hello.txt", "hello\n"), COMMIT, FINISH)

    quick.oneshot("export", away)
    other.oneshot("import", away)
    other.oneshot("resume", "--steps", "2", "--cassette", str(cassette))
    other.oneshot("export", home)
    back = quick.oneshot("import", home)
    done = quick.oneshot("resume", "--cassette", str(cassette))

    assert back.code == 0, back.err
    assert done.code == 0, done.err
    shown = quick.oneshot("show", "5", "--prompt").out
    assert "Drift (branch): somebody else has moved" not in shown
    assert {"a.txt", "hello.txt", "mine.txt"} <= set(
        git(quick.repo, "ls-tree", "--name-only", _branch(quick)).split())


def test_abort_undoes_what_was_half_done_and_names_what_it_cannot_undo(
        quick: Shop, tmp_path: Path) -> None:
    log = tmp_path / "sent"
    with (quick.repo / ".agent-contract/policy.yaml").open("a") as policy:
        policy.write(f'external: [{{run: "echo x >> {log}; touch here; kill -9 $$"}}]\n')
    quick.oneshot("run", "--cassette", str(quick.replies(
        {"action": {"kind": "run", "shell": f"echo x >> {log}; touch here; kill -9 $$"}})))
    assert (quick.worktree / "here").exists()

    ended = quick.oneshot("abort")
    twice, back = quick.oneshot("abort"), quick.oneshot("rollback", "--to", "0")

    assert ended.code == 0, ended.err
    assert "not undone, it is outside the worktree: the open effect: run echo x" in ended.err
    assert not (quick.worktree / "here").exists()
    assert (twice.code, back.code) == (2, 2)
    assert "since then the run has changed something outside" in back.err


def test_abort_leaves_a_branch_that_somebody_works_on(quick: Shop, git: Git) -> None:
    quick.oneshot("run", "--steps", "2", "--cassette", str(quick.replies(
        write("a.txt", "one\n"), COMMIT)))
    branch = _branch(quick)
    git(quick.repo, "checkout", "-q", branch)

    checked_out = quick.oneshot("abort", "--restore")
    git(quick.repo, "commit", "-q", "--allow-empty", "-m", "mine")
    mine = git(quick.repo, "rev-parse", "HEAD")
    git(quick.repo, "checkout", "-q", "main")
    worked_on = quick.oneshot("abort", "--restore")

    assert "it is checked out" in checked_out.err
    assert "somebody else has worked on it" in worked_on.err
    assert git(quick.repo, "rev-parse", branch) == mine


def test_a_finished_run_is_not_aborted(quick: Shop, git: Git) -> None:
    quick.oneshot("run", "--cassette", str(quick.replies(
        write("hello.txt", "hello\n"), COMMIT, FINISH)))

    ran = quick.oneshot("abort", "--restore")

    assert (ran.code, "is finished: its Git commit is proved" in ran.err) == (2, True)
    assert git(quick.repo, "rev-parse", _branch(quick))


def test_what_a_person_did_in_the_worktree_is_kept_when_it_is_rolled_back(
        gone: Shop, git: Git) -> None:
    (gone.worktree / "mine.txt").write_text("a person's\n")

    ran = gone.oneshot("rollback", "--to", "1")

    assert not (gone.worktree / "mine.txt").exists()
    (told,) = (line for line in ran.err.splitlines() if "is kept" in line)
    assert "+a person's" in git(gone.repo, *told.partition(" git ")[2].split())


def test_a_fork_of_a_run_with_an_approved_edit_goes_on(quick: Shop) -> None:
    protected = {"action": {"kind": "edit", "changes": [
        {"op": "write", "path": "pyproject.toml", "content": "# agreed\n"}]}}
    cassette = quick.replies(protected, write("a.txt", "one\n"))
    quick.oneshot("run", "--cassette", str(cassette))
    quick.oneshot("approve", "c1")
    quick.oneshot("resume", "--steps", "1", "--cassette", str(cassette))

    forked = quick.oneshot("fork", "--from", "1")
    ran = quick.oneshot("resume", "--steps", "1", "--cassette", str(quick.replies(
        write("a.txt", "one\n"))))

    assert (forked.code, ran.code) == (0, 3), forked.err + ran.err
