"""The user's repository, found and borrowed from; never written but for the run's branch."""

import os
from collections.abc import Iterator
from pathlib import Path

from controller.core.errors import SetupError, WorldError
from controller.git_config import CONFIG, as_environment
from controller.loose import under_way
from controller.repo import Identity, Repo
from controller.settings import checkout_root

_ATTRIBUTES = "* -text !eol -filter -ident -working-tree-encoding\n"

LEFT_BEHIND = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
                         "node_modules", ".venv"})
"""Folders of tools in any repository, whether or not it ignores them: never snapshotted."""


def open_checkout(folder: Path) -> Repo:
    """The user's repository around `folder`, never written but for the run's branch.

    Raises SetupError when `folder` is in no checkout.
    """
    root = checkout_root(folder)
    pointer = root / ".git"
    return Repo(pointer if pointer.is_dir() else _pointed(pointer), root)


def create(git_dir: Path, lender: Repo) -> Repo:
    """A bare repository of the controller's own that borrows the objects of another."""
    repo = Repo(git_dir)
    git_dir.mkdir(parents=True, exist_ok=True)
    form = lender.git("rev-parse", "--show-object-format").decode().strip()
    repo.git("init", "--bare", "--quiet", f"--object-format={form}", str(git_dir))
    borrow(git_dir, lender)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info/attributes").write_text(_ATTRIBUTES)
    (git_dir / "info/exclude").write_text("".join(
        f"{name}/\n" for name in sorted(LEFT_BEHIND)) + "*.pyc\n")
    return repo


def borrow(git_dir: Path, lender: Repo) -> None:
    """Let a repository of ours read the objects of another, wherever that lies now."""
    objects = lender.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
    place = git_dir / "objects/info/alternates"
    if not place.exists() or place.read_bytes() != objects:  # a git may be reading it
        beside = place.with_suffix(".tmp")
        beside.write_bytes(objects)
        beside.replace(place)


def identity_of(user: Repo, home: Path) -> Identity:
    """The name and address that the user's own configuration gives to commits, else ours."""
    found = {}
    for key in ("user.name", "user.email"):
        try:
            found[key] = user.git("config", "--includes", "--get", key, extra={
                "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}).decode("utf-8", "replace").strip()
        except WorldError:
            continue
    ours = Identity()
    usable = {key: text for key, text in found.items() if any(map(str.isalnum, text))}
    return Identity(usable.get("user.name", ours.name), usable.get("user.email", ours.email))


def _pointed(pointer: Path) -> Path:
    """The git folder that the `.git` file of a linked worktree names."""
    text = pointer.read_text().strip()
    if not text.startswith("gitdir: "):
        raise SetupError(f"{pointer} is neither a folder nor a `gitdir:` file")
    return (pointer.parent / text.removeprefix("gitdir: ")).resolve()


def refused(user: Repo) -> str:
    """Why no run can start from a checkout; empty: one can."""
    owner = user.git_dir.stat().st_uid
    if os.geteuid() not in (0, owner):
        return (f"{user.git_dir} belongs to user {owner}, not to you: its configuration could run "
                "commands of his; work in a clone of your own")
    if _configured(user, r"^extensions\.partialclone$|^remote\..*\.promisor$"):
        listed = user.git("rev-list", "--objects", "--missing=print", "--max-count=1", "HEAD")
        missing = sum(line.startswith(b"?") for line in listed.splitlines())
        if missing:
            return (f"{missing} objects of the last Git commit are not here (a partial clone): "
                    "fetch them with `git fetch --refetch --no-filter`, or clone anew")
    return ""


def noticed(user: Repo) -> Iterator[str]:
    """What is out of the ordinary about a checkout, and what that means for a run."""
    what = under_way(user.git_dir)
    if what:
        yield f"a {what} is under way in your checkout; the run starts from the last Git commit"
    if (user.git_dir / "shallow").exists():
        yield "your clone is shallow: what lies before it can't be looked up"
    modes = user.git("ls-tree", "-r", "-z", "--format=%(objectmode)", "HEAD").split(b"\0")
    modules = modes.count(b"160000")
    if modules:
        yield f"{modules} submodules are empty folders in the run's worktree"
    pointers = user.file("HEAD", ".gitattributes") or b""
    if b"filter=lfs" in pointers:
        yield "files that Git LFS keeps are pointers in the run's worktree: no filter is run"


def _configured(user: Repo, names: str) -> bool:
    try:
        return bool(user.git("config", "--includes", "--name-only", "--get-regexp", names))
    except WorldError:
        return False  # git's way to say that there are none


def is_dirty(user: Repo) -> bool:
    """Whether a checkout differs from its last Git commit, as far as stat data tells.

    No filter of the repository's runs: none is given a command.
    """
    try:
        found = user.git("config", "--includes", "--name-only", "--get-regexp",
                         r"^filter\..*\.(clean|process|required)$").decode("utf-8", "replace")
    except WorldError:
        found = ""  # git's way to say that there are none
    off = as_environment({**CONFIG, **{
        name: "false" if name.endswith("required") else "" for name in found.split("\n") if name}})
    return bool(user.git("diff-files", "--name-only", extra=off)
                or user.git("diff-index", "--cached", "--name-only", "HEAD", extra=off))
