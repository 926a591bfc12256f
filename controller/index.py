"""What is done with the index of a worktree of ours."""

from collections.abc import Iterable

from controller.repo import Repo, lines, names


def ignored(repo: Repo, paths: Iterable[str]) -> frozenset[str]:
    """Those of the worktree's paths that git ignores; what the index has is not ignored."""
    asked = [f"./{path}" for path in paths]  # a path that begins with a colon would be magic
    if not asked:
        return frozenset()
    found = repo.git("check-ignore", "-z", "--stdin", stdin=lines(asked), fine=(0, 1),
                     extra={"GIT_LITERAL_PATHSPECS": "0"})
    return frozenset(path.removeprefix("./") for path in names(found))


def hidden(repo: Repo) -> frozenset[str]:
    """Every file of the worktree that git ignores."""
    return frozenset(names(repo.git("ls-files", "--others", "--ignored", "--exclude-standard",
                                    "-z")))


def add_all(repo: Repo, outside: Iterable[str] = (), *, force: bool = False) -> None:
    """Bring the index up to the worktree, but for the folders `outside`; `force`: with what
    is ignored.
    """
    specs = [".", *(f":(exclude,top,literal){path}" for path in outside)]
    repo.git("add", "--all", *(["--force"] if force else []), "--pathspec-from-file=-",
             "--pathspec-file-nul", stdin=lines(specs), extra={"GIT_LITERAL_PATHSPECS": "0"})


def forget(repo: Repo, paths: Iterable[str]) -> None:
    """Take paths out of the index, with all that lies below them."""
    repo.git("rm", "--cached", "-r", "-f", "-q", "--ignore-unmatch",
             "--pathspec-from-file=-", "--pathspec-file-nul", stdin=lines(paths))


def distrust(repo: Repo, paths: frozenset[str]) -> None:
    """Drop what the index knows of the files' times and sizes: they are read again next time.

    Git compares whole seconds, so a file changed twice in one of them can look the same.
    """
    if not paths:
        return
    listed = names(repo.git("ls-files", "--stage", "-z"))
    doubtful = [line for line in listed if line.split("\t", 1)[1] in paths]
    if doubtful:
        repo.git("update-index", "-z", "--index-info", stdin=lines(doubtful))
