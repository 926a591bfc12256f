"""Find lines or files. Ignored files are never searched; git does the matching, in bounded time."""

from controller.core.action import Search
from controller.core.errors import WorldError
from controller.repo import Repo

_MATCHES = 120
_TIME = 30.0  # seconds
_WIDTH = 240  # characters of a matching line


def search(repo: Repo, action: Search) -> str:
    """Matching lines as `path:line: text`, or the paths when there is no pattern."""
    paths = _pathspec(action.glob)
    if not action.pattern:
        return _listed(_lines(repo, "ls-files", "-z", "--cached", "--", paths), "file")
    try:
        found = _lines(repo, "grep", "-nIP", "--null", "-e", action.pattern, "--", paths)
    except WorldError as fault:
        if str(fault).endswith("exit 1"):
            return f"no line matches {action.pattern!r} in {action.glob}"
        raise
    return _listed([_match(line) for line in found], "line")


def _lines(repo: Repo, *args: str) -> list[str]:
    said = repo.git(*args, extra={"GIT_LITERAL_PATHSPECS": "0"}, timeout=_TIME)
    output = said.decode("utf-8", "replace")
    return output.split("\n" if args[0] == "grep" else "\0")[:-1]


def _match(line: str) -> str:
    path, number, text = line.split("\0", 2)
    return f"{path}:{number}: {text[:_WIDTH]}{'…' if len(text) > _WIDTH else ''}"


def _listed(found: list[str], noun: str) -> str:
    if not found:
        return f"no {noun} matches"
    rest = len(found) - _MATCHES
    more = [f"[… {rest} more; narrow the pattern or the glob …]"] if rest > 0 else []
    return "\n".join([f"{len(found)} {noun}{'s' * (len(found) > 1)}:", *found[:_MATCHES], *more])


def _pathspec(glob: str) -> str:
    """The glob as git spells it: a name without a slash matches anywhere."""
    return f":(glob){glob if '/' in glob or glob == '**' else '**/' + glob}"
