"""The user's repository, found and borrowed from; never written but for the run's branch."""

from pathlib import Path

from controller.core.errors import SetupError, WorldError
from controller.git_config import CONFIG, as_environment
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
