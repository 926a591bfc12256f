"""The only git caller.

Git is told what to do by its arguments and by nothing else: every GIT_* variable is dropped, the
user's and the system's configuration are not read, hooks, filters, prompts, pagers, editors,
signing, background maintenance and optional locks are off.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from controller.core.errors import MachineFault, WorldError
from controller.git_config import ENVIRONMENT
from controller.loose import read_ref
from controller.process import capture, supervise, told_machine_fault
from controller.watching import Ended, Job

ABSENT = ""
"""The old value of a ref that must not exist yet."""

@dataclass(frozen=True, slots=True)
class Identity:
    """Who a Git commit is by."""

    name: str = "oneshot"
    email: str = "oneshot@localhost"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree has at one path: its mode, as git writes it, and the object's id."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Repo:
    """A Git repository, perhaps with a worktree and an index of our own. Paths are absolute.

    Its git processes inherit the file descriptors `inherited`: a lock that they hold with us.
    """

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None
    inherited: tuple[int, ...] = ()

    def git(self, *args: str, stdin: bytes = b"", extra: Mapping[str, str] | None = None,
            timeout: float = 120.0, fine: tuple[int, ...] = (0,)) -> bytes:
        """What a git command writes to stdout. Raises WorldError with git's words when it fails:
        when its exit code is not one of `fine`.
        """
        env = {**self._environment(), **(extra or {})}
        said = capture(("git", *args), cwd=self.work_tree or self.git_dir, env=env, stdin=stdin,
                       timeout=timeout, inherited=self.inherited)
        if said.exit not in fine:
            words = said.stderr.decode("utf-8", "replace").strip() or f"exit {said.exit}"
            kind = MachineFault if told_machine_fault(words) else WorldError
            raise kind(f"git {' '.join(args[:2])} failed: {words}")
        if b"could not open directory" in said.stderr or b"ermission denied" in said.stderr:
            raise WorldError(f"git can't read everything: {said.stderr.decode(errors='replace')}")
        return said.stdout

    def commit(self, name: str) -> str:
        """The id of the Git commit that `name` leads to. Raises WorldError when there is none."""
        return self._line("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")

    def tree_of(self, name: str) -> str:
        """The id of the tree of a Git commit or tree."""
        return self._line("rev-parse", "--verify", "--end-of-options", f"{name}^{{tree}}")

    def ref(self, name: str) -> str | None:
        """The id a ref holds, or None when it does not exist."""
        known = read_ref(self.git_dir, name)
        if known is not None:
            return known or None
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", name).decode()
        found = dict(line.split() for line in lines.splitlines())  # and of the refs below it
        return found.get(name)

    def paths(self, tree: str) -> frozenset[str]:
        """Every file path of a tree. What is not UTF-8 keeps its bytes (surrogateescape)."""
        return frozenset(names(self.git("ls-tree", "-r", "-z", "--name-only", tree)))

    def entries(self, tree: str) -> Iterator[tuple[str, str]]:
        """(kind, path) of everything in a tree: tree, blob, or commit (a submodule)."""
        for line in names(self.git("ls-tree", "-r", "-t", "-z", tree)):
            about, path = line.split("\t", 1)
            yield about.split()[1], path

    def changed(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """(letter, path) of every file that differs between two trees: A, M, D or T."""
        fields = names(self.git("diff-tree", "-r", "-z", "--no-renames", "--name-status",
                                 old, new))
        return tuple(zip(fields[::2], fields[1::2], strict=True))

    def modes(self, old: str, new: str) -> tuple[tuple[str, str, str], ...]:
        """(mode before, mode after, path) of every file that differs between two trees; 000000
        where there is none.
        """
        fields = names(self.git("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new))
        return tuple((about[1:7], about.split()[1], path)
                     for about, path in zip(fields[::2], fields[1::2], strict=True))

    def patch(self, old: str, new: str, scratch: Path, limit: int) -> bytes:
        """What changes between two trees line by line, without context; at most `limit` bytes.

        Files are in the order of `modes`; one whose kind changes has two parts.
        """
        return self.stream("diff-tree", "-r", "-p", "--unified=0", "--no-renames", "--no-color",
                           "--no-ext-diff", "--no-textconv", "--text", old, new, scratch=scratch,
                           limit=limit, timeout=60.0)[1]

    def same(self, pairs: Sequence[tuple[str, str, str]]) -> tuple[bool, ...]:
        """For each (tree, other tree, path) whether both have the same file there, or none."""
        asked = "".join(f"{old}:{path}\n{new}:{path}\n" for old, new, path in pairs)
        told = self.git("cat-file", "--batch-check=%(objectname)",
                        stdin=asked.encode("utf-8", "surrogateescape")).decode(errors="replace")
        ids = [line.split()[-1] if line.endswith(" missing") else line
               for line in told.removesuffix("\n").split("\n")]
        return tuple(old == new for old, new in zip(ids[::2], ids[1::2], strict=True))

    def counted(self, old: str, new: str) -> int:
        """How many lines are added and removed between two trees, of binary files as well."""
        rows = self.git("diff-tree", "-r", "--no-renames", "--numstat", "--text", "--no-ext-diff",
                        "--no-textconv", old, new).split(b"\n")
        return sum(int(count) for row in rows for count in row.split(b"\t")[:2] if count.isdigit())

    def entry(self, tree: str, path: str) -> Entry | None:
        """What a tree has at a path, or None."""
        found = self.git("ls-tree", "-z", "--full-tree", tree, "--", path)
        if not found:
            return None
        mode, _, id = found.split(b"\t")[0].decode().split()
        return Entry(mode, id)

    def file(self, tree: str, path: str) -> bytes | None:
        """The content of a regular file of a tree, or None when there is none at the path."""
        entry = self.entry(tree, path)
        if entry is None or not entry.mode.startswith("100"):
            return None
        return self.git("cat-file", "blob", entry.id)

    def merged(self, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """The tree of two Git commits merged, and the paths in conflict: they hold both sides."""
        found = names(self.git("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
                                "--allow-unrelated-histories", ours, theirs, fine=(0, 1)))
        return found[0], tuple(found[1:])

    def log(self, old: str, new: str, limit: int) -> tuple[str, ...]:
        """The newest Git commits that `new` has and `old` has not, a line each, with the author."""
        said = self.git("log", "-z", f"--max-count={limit}", "--format=%h %an: %s", new, f"^{old}")
        return tuple(names(said))

    def counted_commits(self, old: str, new: str) -> int:
        """How many Git commits `new` has and `old` has not."""
        return int(self.git("rev-list", "--count", new, f"^{old}"))

    def merges(self, old: str, new: str) -> tuple[str, ...]:
        """The ids of the merges that `new` has and `old` has not."""
        return tuple(self.git("rev-list", "--merges", new, f"^{old}").decode().split())

    def commit_tree(self, tree: str, parent: str, message: str, by: Identity, at: datetime) -> str:
        """Store a Git commit and return its id; the same arguments give the same id."""
        date = f"{int(at.timestamp())} +0000"
        return self.git(
            "commit-tree", tree, "-p", parent, "-F", "-", stdin=message.encode(), extra={
                "GIT_AUTHOR_NAME": by.name, "GIT_AUTHOR_EMAIL": by.email, "GIT_AUTHOR_DATE": date,
                "GIT_COMMITTER_NAME": by.name, "GIT_COMMITTER_EMAIL": by.email,
                "GIT_COMMITTER_DATE": date,
            }).decode().strip()

    def move_ref(self, name: str, new: str, old: str) -> bool:
        """Set a ref to `new` if it still holds `old`; either may be ABSENT. True: it is `new` now.

        False: somebody else has moved it. Raises WorldError when it holds `old` and can't be moved.
        Git answers every failure alike, so the ref itself is asked.
        """
        try:
            change = ("-d", name) if new == ABSENT else (name, new)
            self.git("update-ref", "--no-deref", *change, old)
        except WorldError:
            found = self.ref(name) or ABSENT
            if found == old != new:
                raise
            return found == new
        return True

    def at(self, ref: str, expected: str) -> str:
        """The old value to move a ref from: `expected`, or ABSENT when it is not there at all."""
        return ABSENT if self.ref(ref) is None else expected

    def checked_out(self, ref: str) -> bool:
        """Whether a worktree of the repository has this branch checked out."""
        listed = self.git("worktree", "list", "--porcelain").decode("utf-8", "replace")
        return f"branch {ref}" in listed.split("\n")

    def unlock(self, name: str) -> None:
        """Remove the locks that a killed git left behind. Only for a repository of ours."""
        for locked in (name, "packed-refs"):
            (self.git_dir / f"{locked}.lock").unlink(missing_ok=True)

    def export(self, tree: str, folder: Path,
               instead: Mapping[str, Entry | None] | None = None) -> None:
        """Write a tree's files into a new folder, exactly, with a private index.

        Paths in `instead` get another entry, or (None) none.
        """
        folder.mkdir(parents=True)
        index = folder.with_name(folder.name + ".index")
        repo = Repo(self.git_dir, folder, index)
        lines = [f"{entry.mode if entry else 0} {entry.id if entry else '0' * len(tree)}\t{path}\0"
                 for path, entry in (instead or {}).items()]
        try:
            repo.git("read-tree", tree)
            repo.git("update-index", "-z", "--index-info",
                     stdin="".join(lines).encode("utf-8", "surrogateescape"))
            repo.git("checkout-index", "--all", "--force")
        finally:
            index.unlink(missing_ok=True)

    def laid_over(self, tree: str, files: Mapping[str, tuple[str, bytes] | None]) -> str:
        """The tree that is `tree` with these files: (mode, content), or None where none is to be.
        """
        index = self.git_dir / "laid-over.index"
        index.unlink(missing_ok=True)
        beside, lines = Repo(self.git_dir, index=index), []
        for path, file in files.items():
            id = "0" * len(tree) if file is None else beside.git(
                "hash-object", "-w", "--stdin", "--no-filters", stdin=file[1]).decode().strip()
            lines.append(f"{file[0] if file else 0} {id}\t{path}\0")
        try:
            beside.git("read-tree", tree)
            beside.git("update-index", "-z", "--index-info",
                       stdin="".join(lines).encode("utf-8", "surrogateescape"))
            return beside.git("write-tree").decode().strip()
        finally:
            index.unlink(missing_ok=True)

    def stream(self, *args: str, scratch: Path, limit: int, timeout: float) -> tuple[int, bytes]:
        """The exit code of a git command that may say much, and the first `limit` bytes of it.

        Raises WorldError when it can't be started or does not end.
        """
        stdout, env = scratch / "git-output", {**self._environment(), "GIT_LITERAL_PATHSPECS": "0"}
        result = supervise(Job(["git", *args], self.work_tree or self.git_dir, env, stdout,
                               scratch / "git-errors", timeout=timeout, size=limit))
        if result.ended not in (Ended.EXITED, Ended.FLOODED):
            raise WorldError(f"git {args[0]} {result.ended.value}: narrow what it looks for")
        if result.ended is Ended.EXITED and result.exit not in (0, 1):
            words = (scratch / "git-errors").read_text("utf-8", "replace").strip()
            raise WorldError(f"git {args[0]} failed: {words}")
        with stdout.open("rb") as file:
            stdout.unlink()
            return (result.exit or 0) if result.ended is Ended.EXITED else 0, file.read(limit)

    def _environment(self) -> dict[str, str]:
        found = {**ENVIRONMENT, "GIT_DIR": str(self.git_dir)}
        if self.work_tree:
            found["GIT_WORK_TREE"] = str(self.work_tree)
        if self.index:
            found["GIT_INDEX_FILE"] = str(self.index)
        return found

    def _line(self, *args: str) -> str:
        return self.git(*args).decode().strip()


def lines(texts: Iterable[str]) -> bytes:
    """Texts as git reads them with -z. What is not UTF-8 keeps its bytes (surrogateescape)."""
    return "".join(f"{text}\0" for text in texts).encode("utf-8", "surrogateescape")


def names(output: bytes) -> list[str]:
    """Texts as git writes them with -z."""
    return [name.decode("utf-8", "surrogateescape") for name in output.split(b"\0") if name]
