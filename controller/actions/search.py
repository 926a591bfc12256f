"""Find lines or files. Ignored files are never searched; git does the matching, in bounded time."""

from collections.abc import Iterator
from pathlib import Path

from controller.core.action import Search
from controller.core.observation import quoted
from controller.repo import Repo

_MATCHES = 120
_TIME = 30.0  # seconds
_WIDTH = 240  # characters of a matching line
_BYTES = 1024 * 1024  # of git's answer that are looked at


def search(repo: Repo, scratch: Path, action: Search) -> str:
    """Matching lines as `path:line: text`, or the paths when there is no pattern.

    `scratch` is a folder for git's answer, which may be long.
    """
    paths = _pathspec(action.glob)
    args = ("ls-files", "-z", "--cached", "--", paths) if not action.pattern else (
        "grep", "-nIP", "--null", "-m", str(_MATCHES), "-e", action.pattern, "--", paths)
    code, said = repo.stream(*args, scratch=scratch, limit=_BYTES, timeout=_TIME)
    text = said.decode("utf-8", "replace")
    if not action.pattern:
        return _listed([quoted(path) for path in text.split("\0")[:-1]], "file")
    if code == 1:
        return f"no line matches {action.pattern!r} in {action.glob}"
    return _listed(list(_matches(text)), "line")


def _matches(text: str) -> Iterator[str]:
    """`path NUL number NUL line LF`: a path may hold a line feed, a line may not hold a NUL."""
    while text.count("\0", 0, 10_000) >= 2:
        path, number, rest = text.split("\0", 2)
        line, _, text = rest.partition("\n")
        yield f"{quoted(path)}:{number}: {line[:_WIDTH]}{'…' if len(line) > _WIDTH else ''}"


def _listed(found: list[str], noun: str) -> str:
    if not found:
        return f"no {noun} matches"
    rest = len(found) - _MATCHES
    more = [f"[… {rest} more; narrow the pattern or the glob …]"] if rest > 0 else []
    return "\n".join([f"{len(found)} {noun}{'s' * (len(found) > 1)}:", *found[:_MATCHES], *more])


def _pathspec(glob: str) -> str:
    """The glob as git spells it: a name without a slash matches anywhere."""
    return f":(glob){glob if '/' in glob or glob == '**' else '**/' + glob}"
