"""Whatever a repository is configured to run when somebody calls git in it: we don't run it.

Each vector is fired once with plain git first, so that none is here in name only.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.process import capture
from controller.repo import Repo
from tests.cli.conftest import Shop

Fire = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vector:
    """One way to make git run a program: what is configured, and how plain git is led to it.

    `@` stands for the planted program, `%` for the folder it lies in.
    """

    name: str
    config: tuple[tuple[str, str], ...] = ()
    attributes: str = ""
    hook: str = ""
    fire: str = "status"


VECTORS = (
    Vector("fsmonitor", (("core.fsmonitor", "@"),)),
    *(Vector(f"hook-{name}", hook=name, fire=fire) for name, fire in (
        ("pre-commit", "commit --allow-empty -m x"), ("commit-msg", "commit --allow-empty -m x"),
        ("prepare-commit-msg", "commit --allow-empty -m x"),
        ("post-commit", "commit --allow-empty -m x"), ("post-checkout", "checkout -q -b other"),
        ("post-index-change", "add f.txt"), ("reference-transaction", "update-ref refs/x HEAD"),
        ("pre-push", "push -q ./remote.git HEAD:refs/heads/x"),
        ("post-merge", "merge -q -s ours side"), ("pre-rebase", "rebase -q side"))),
    Vector("hooks-path", (("core.hooksPath", "%/hooks"),), fire="commit --allow-empty -m x"),
    Vector("external-diff", (("diff.external", "@"),), fire="diff"),
    Vector("diff-driver", (("diff.x.command", "@"),), "* diff=x\n", fire="diff"),
    Vector("textconv", (("diff.x.textconv", "@"),), "* diff=x\n", fire="diff"),
    Vector("filter-clean", (("filter.x.clean", "@"),), "* filter=x\n", fire="add f.txt"),
    Vector("filter-smudge", (("filter.x.smudge", "@"),), "* filter=x\n", fire="checkout -- f.txt"),
    Vector("filter-process", (("filter.x.process", "@"),), "* filter=x\n", fire="add f.txt"),
    Vector("merge-driver", (("merge.x.driver", "@"),), "* merge=x\n", fire="merge side"),
    Vector("editor", (("core.editor", "@"),), fire="commit --allow-empty"),
    Vector("sequence-editor", (("sequence.editor", "@"),), fire="rebase -i HEAD~1"),
    Vector("gpg", (("gpg.program", "@"), ("commit.gpgSign", "true")),
           fire="commit --allow-empty -m x"),
    Vector("gpg-ssh-key", (("gpg.format", "ssh"), ("gpg.ssh.defaultKeyCommand", "@"),
                           ("commit.gpgSign", "true")), fire="commit --allow-empty -m x"),
    Vector("credential-helper", (("credential.helper", "!@"),), fire="credential fill"),
    Vector("askpass", (("core.askPass", "@"),), fire="credential fill"),
    Vector("ssh-command", (("core.sshCommand", "@"),), fire="ls-remote ssh://h.invalid/x"),
    Vector("proxy-command", (("core.gitProxy", "@"),), fire="ls-remote git://h.invalid/x"),
    Vector("upload-pack", (("remote.o.url", "./remote.git"), ("remote.o.uploadpack", "@")),
           fire="ls-remote o"),
    Vector("receive-pack", (("remote.o.url", "./remote.git"), ("remote.o.receivepack", "@")),
           fire="push o HEAD:refs/heads/y"),
    Vector("ext-protocol", (("protocol.ext.allow", "always"), ("remote.o.url", "ext::@")),
           fire="ls-remote o"),
    Vector("alias", (("alias.st", "!@"),), fire="st"),
    Vector("trailer", (("trailer.x.key", "X"), ("trailer.x.command", "@")),
           fire="interpret-trailers --trailer X=y f.txt"),
    Vector("include", (("include.path", "%/more"),)),
    Vector("include-if", (("includeIf.gitdir:**.path", "%/more"),)),
    Vector("mergetool", (("merge.tool", "x"), ("mergetool.x.cmd", "@"),
                         ("mergetool.prompt", "false")), fire="difftool -y -t x HEAD~1"),
)


def plant(repo: Path, evil: Path, vector: Vector) -> Path:
    """Arm one vector in a repository; returns the file that appears when it fires."""
    here = evil / vector.name
    (here / "hooks").mkdir(parents=True)
    program, seen = here / "run", here / "ran"
    program.write_text(f"#!/bin/sh\ntouch {seen}\nexit 1\n")
    program.chmod(0o755)
    (here / "hooks/pre-commit").symlink_to(program)
    (here / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    with (repo / ".git/config").open("a") as config:
        for key, value in vector.config:
            section, _, rest = key.partition(".")
            sub, _, name = rest.rpartition(".")
            head = f'[{section} "{sub}"]' if sub else f"[{section}]"
            text = value.replace("@", str(program)).replace("%", str(here))
            config.write(f"{head}\n\t{name} = {text}\n")
    if vector.attributes:
        with (repo / ".gitattributes").open("a") as attributes:
            attributes.write(vector.attributes)
    if vector.hook:
        (repo / ".git/hooks").mkdir(exist_ok=True)
        (repo / ".git/hooks" / vector.hook).symlink_to(program)
    return seen


@pytest.fixture
def victim(tmp_path: Path, git: Callable[..., str]) -> Path:
    """A repository with two branches that changed the same line, a change, and a remote."""
    repo = tmp_path / "victim"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    for text, branch in (("one\n", ""), ("two\n", "side"), ("three\n", "main")):
        if branch == "side":
            git(repo, "checkout", "-q", "-b", "side")
        elif branch:
            git(repo, "checkout", "-q", branch)
        (repo / "f.txt").write_text(text)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", text.strip())
    git(repo, "init", "-q", "--bare", "remote.git")
    return repo


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_plain_git_fires_each_vector(vector: Vector, victim: Path, tmp_path: Path) -> None:
    seen = plant(victim, tmp_path / "evil", vector)
    if vector.name not in ("merge-driver", "hook-pre-rebase", "hook-post-merge", "sequence-editor",
                           "mergetool"):
        (victim / "f.txt").write_text("four\n")
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm",
           **{f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER")
              for what in ("NAME", "EMAIL")}}

    capture(("git", *vector.fire.split()), cwd=victim, env=env, timeout=20,
            stdin=b"protocol=https\nhost=h.invalid\n\n" if "credential" in vector.fire else b"")

    assert seen.exists()


WRITE = {"action": {"kind": "edit", "changes": [
    {"op": "write", "path": "hello.txt", "content": "hello\n"}]}}
COMMIT = {"action": {"kind": "commit", "message": "Say hello"}}


def test_none_of_them_fires_in_a_whole_run(quick: Shop, git: Callable[..., str],
                                           tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    for vector in VECTORS:
        plant(quick.repo, evil, vector)
    cart = quick.repo / "src/basket/cart.py"
    cart.write_text(cart.read_text() + "# a change of the user's\n")
    cassette = quick.replies(
        {"action": {"kind": "search", "pattern": "def"}}, WRITE,
        {"action": {"kind": "run", "shell": "echo more >> src/basket/cart.py"}}, COMMIT,
        {"action": {"kind": "read", "files": [{"path": "hello.txt"}]}},
        {"action": {"kind": "finish", "result": "done", "summary": "x"}})

    planned = quick.oneshot("plan", "--prompt")
    ran = quick.oneshot("run", "--cassette", str(cassette), "--steps", "4")
    branch = git_branch(quick)
    theirs(quick.repo, branch)  # somebody moves the branch: it is merged, by no driver of his
    done = quick.oneshot("resume", "--cassette", str(cassette))
    back = quick.oneshot("rollback", "--to", "2", "--accept-external")
    others = [quick.oneshot(*args).code for args in (
        ("status",), ("log",), ("diff", "1", "3"), ("fork", "--from", "2"), ("verify-audit",),
        ("export", str(tmp_path / "bundle")), ("doctor",), ("validate",))]

    assert (planned.code, ran.code) == (0, 3), ran.err
    assert done.code == 4, done.err  # a reply was for the version before, and there is none more
    assert back.code == 0, back.err
    assert 70 not in others
    assert [path.parent.name for path in evil.rglob("ran")] == []


def git_branch(shop: Shop) -> str:
    (branch,) = Repo(shop.repo / ".git").git(
        "for-each-ref", "--format=%(refname)", "refs/heads/oneshot").decode().split()
    return branch


def theirs(repo: Path, branch: str) -> None:
    """A Git commit of somebody else's on the branch, that changes what the run has changed."""
    user = Repo(repo / ".git")
    tree = user.laid_over(user.tree_of(branch), {
        "hello.txt": ("100644", b"hallo\n"), "src/basket/cart.py": ("100644", b"x = 1\n")})
    env = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER")
           for what in ("NAME", "EMAIL")}
    made = user.git("commit-tree", tree, "-p", branch, "-m", "theirs", extra=env).decode().strip()
    user.git("update-ref", branch, made)


def test_a_worktree_elsewhere_is_not_written(quick: Shop, tmp_path: Path) -> None:
    """core.worktree of the user's configuration would make git check files out over his."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with (quick.repo / ".git/config").open("a") as config:
        config.write(f"[core]\n\tworktree = {elsewhere}\n")

    quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT)), "--steps", "2")

    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("variable", [
    "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "EDITOR", "GIT_EDITOR", "PAGER",
    "GIT_PAGER", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR"])
def test_no_variable_of_the_environment_reaches_git(
        quick: Shop, tmp_path: Path, variable: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    value = f"'core.fsmonitor={program}'" if "PARAMETERS" in variable else str(
        tmp_path if variable.endswith(("PATH", "DIR")) else program)

    ran = quick.oneshot("run", "--cassette", str(quick.replies(WRITE, COMMIT)), "--steps", "2",
                        **{variable: value})

    assert ran.code == 3, ran.err
    assert not (tmp_path / "ran").exists()
