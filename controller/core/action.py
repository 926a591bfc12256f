"""What a model may ask the controller to do: thirteen kinds, each a value.

The kinds and their fields are written down for models in the schema `transition`.
"""

import shlex
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from controller.core.canonical import JsonObject


class EffectClass(Enum):
    """What recovery may do when it finds an effect begun and not settled."""

    PURE = "pure"  # do it again
    WORKSPACE = "workspace"  # restore the pre-snapshot, then do it again under the same key
    EXTERNAL = "external"  # ask the authority; cannot tell: a person


@dataclass(frozen=True, slots=True)
class Command:
    """A command line: an argument list, never text that we parse. `timeout` is in seconds.

    `tty`: it needs a terminal. `network`: it needs hosts that the user must grant.
    """

    argv: tuple[str, ...]
    timeout: int | None = None
    tty: bool = False
    network: bool = False

    def __str__(self) -> str:
        shell = self.argv[:2] == ("sh", "-c") and len(self.argv) == 3
        return self.argv[2] if shell else shlex.join(self.argv)


@dataclass(frozen=True, slots=True)
class FileRange:
    """Lines `first` to `last` of a file, counted from 1, both included; None: to the end."""

    path: str
    first: int = 1
    last: int | None = None

    def __str__(self) -> str:
        if self.first == 1 and self.last is None:
            return self.path
        return f"{self.path}:{self.first}-{'' if self.last is None else self.last}"


@dataclass(frozen=True, slots=True)
class Read:
    """Show files, or some lines of them."""

    files: tuple[FileRange, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Find lines that match a regular expression, or (empty pattern) paths that match a glob."""

    pattern: str
    glob: str = "**"


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace `old`, which must stand exactly once in the file, by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Write:
    """Make the file hold exactly `content`."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the file."""

    path: str


@dataclass(frozen=True, slots=True)
class Move:
    """Give the file another path; nothing may be there yet."""

    path: str
    to: str


Change: TypeAlias = Replace | Write | Delete | Move


@dataclass(frozen=True, slots=True)
class Edit:
    """Change several files, all or none, then perhaps run `check` over the result."""

    changes: tuple[Change, ...]
    check: Command | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Run a command in the worktree; `force`: although its result over this tree is known."""

    command: Command
    force: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """Make a Git commit of the worktree on the run's own branch and deliver it."""

    message: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Search this run's own audit trail and artifacts for a text."""

    query: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the person who owns the run, and wait for the answer."""

    question: str


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Ask for a change of the user's contract: `add` to a field, `amend` or `retire` an item.

    `value` is what it is to say: a text, or JSON for what is typed. Only a person grants it.
    """

    change: str
    item: str  # the id of an item; for `add` a field, and of a criterion its id: field/id
    reason: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Let time pass; `checks`: no longer than until the hosted checks have said their last word."""

    seconds: int
    reason: str = ""
    checks: bool = False


@dataclass(frozen=True, slots=True)
class Push:
    """Bring the run's last Git commit to its branch on the forge; nothing there is overwritten."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Open a pull request for the pushed branch, or bring the one that is open up to date."""

    title: str
    body: str
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """Write a comment on the run's issue or pull request."""

    body: str
    on: Literal["issue", "pull_request"] = "issue"


@dataclass(frozen=True, slots=True)
class Finish:
    """Ask for the run to end: because the criteria hold, or because they can't be met."""

    result: Literal["done", "impossible"]
    summary: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """Take over the Git commit that somebody else has moved the run's branch to.

    The controller's own: no schema offers it to a model.
    """

    commit: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring state and worktree back to what they were after an earlier step.

    The controller's own, when a person asks for it.
    """

    step: int
    state: JsonObject
    tree: str
    extras: str
    observation: str
    heard: int
    reason: str


@dataclass(frozen=True, slots=True)
class Amend:
    """Go on under a newer version of the contract, which `text` tells about.

    The controller's own, between two steps, after a person has changed the contract.
    """

    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Halt:
    """Stand still, because something that the run builds on is another now.

    The controller's own, where the user wants it so.
    """

    reason: str


Own: TypeAlias = Adopt | Restore | Amend | Halt
"""What the controller does by itself: journalled and recovered like anything else."""

Delivery: TypeAlias = Push | PullRequest | Comment
"""What is seen on a forge."""

Action: TypeAlias = (
    Read | Search | Edit | Run | Commit | Recall | Ask | ChangeRequest | Wait | Finish | Delivery
    | Own)


def touched(action: Action) -> tuple[str, ...]:
    """Every path that the action names as one to be changed."""
    match action:
        case Edit(changes):
            return tuple(path for change in changes for path in _paths(change))
        case _:
            return ()


def command_of(action: Action) -> Command | None:
    """The command line that an action runs: a `run`'s own, or the check of an edit."""
    match action:
        case Run(command):
            return command
        case Edit(_, check):
            return check
        case _:
            return None


def identity(action: Action) -> str:  # noqa: C901, PLR0911, PLR0912  (one return a kind)
    """The action in one short line for people and for Σ's `recent`."""
    match action:
        case Read(files):
            return "read " + ", ".join(map(str, files))
        case Search(pattern, glob):
            return f"search {pattern!r} in {glob}"
        case Edit(changes, check):
            then = f"; then {check}" if check else ""
            return "edit " + ", ".join(dict.fromkeys(map(_place, changes))) + then
        case Run(line):
            return f"run {line}"
        case Commit(message):
            return f"commit {message.splitlines()[0] if message else ''}"
        case Recall(query):
            return f"recall {query!r}"
        case Ask(question):
            return f"ask {question}"
        case ChangeRequest(change, item):
            return f"ask to {change} {item}"
        case Wait(seconds, checks=checks):
            return f"wait {seconds} s" + " for the hosted checks" * checks
        case Push():
            return "push"
        case PullRequest(title):
            return f"pull request {title!r}"
        case Comment(body, on):
            return f"comment on the {on.replace('_', ' ')}: {body}"
        case Halt(reason):
            return f"stand still: {reason}"
        case Finish(result):
            return f"finish ({result})"
        case Adopt(commit):
            return f"adopt {commit[:12]}"
        case Restore(step):
            return f"restore step {step}"
        case Amend(version):
            return f"go on under version {version} of the contract"


def _place(change: Change) -> str:
    return f"{change.path} -> {change.to}" if isinstance(change, Move) else change.path


def _paths(change: Change) -> tuple[str, ...]:
    return (change.path, change.to) if isinstance(change, Move) else (change.path,)
