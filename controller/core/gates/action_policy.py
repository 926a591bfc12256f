"""Judging gate: what actions may be, in any repository and in this one.

No safety rests on reading a command line: `forbid` and `confirm` patterns are a hint to an honest
model. What a command can reach is the executor's business.
"""

import re
from collections.abc import Iterator

from controller.core.action import Action, Command, Commit, Edit, Read, Run, Search, touched
from controller.core.observation import quoted
from controller.core.pointer import pointer
from controller.core.records import Candidate, Facts
from controller.core.rules import Rules
from controller.core.verdict import Decision, Objection, Verdict, judged

CONTROLLED = (".git", ".agent-contract", ".agent-runtime")
"""Folders that belong to Git, the user and the controller."""


def action_policy(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse bad paths and forbidden commands; ask about protected files and listed commands."""
    action = candidate.transition.action
    refused = [*_bad_paths(action), *_commands(action, rules.policy.forbidden_commands,
                                               "the policy forbids this command")]
    refused += [*_too_long(action, rules), *_nul(action), *_controlled(action, facts),
                *_external(action, rules)]
    if refused:
        return judged("action policy", refused)
    asked = [*_protected(candidate, facts, rules), *_commands(
        action, rules.policy.confirm_commands, "the policy asks a person about this command")]
    return judged("action policy", asked, Decision.CONFIRM)


def path_fault(path: str) -> str | None:
    """Why no action may name this path, in words that follow it; None when one may."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or "\\" in path:
        return "must be relative to the root of the repository, with forward slashes"
    if ".." in parts or "." in parts or "" in parts:
        return "must not contain '.', '..' or empty parts"
    if any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "must not contain control characters"
    if any(part.lower() == ".git" for part in parts) or parts[0] in CONTROLLED:
        return "belongs to Git, the user or the controller"
    if len(path.encode("utf-8", "replace")) > 1024 or any(len(p.encode()) > 255 for p in parts):
        return "is too long"
    return None


def _bad_paths(action: Action) -> Iterator[Objection]:
    for where, path in _named(action):
        fault = path_fault(path)
        if fault is not None:
            yield Objection(where, f"the path {path!r} {fault}")


def _named(action: Action) -> list[tuple[str, str]]:
    match action:
        case Read(files):
            return [(pointer("action", "files", i, "path"), f.path) for i, f in enumerate(files)]
        case Edit():
            return [("/action/changes", path) for path in touched(action)]
        case _:
            return []


def _commands(action: Action, patterns: tuple[str, ...], why: str) -> Iterator[Objection]:
    command = _command(action)
    for pattern in patterns if command else ():
        if re.search(pattern, str(command)):
            yield Objection("/action", f"{why} (it matches {pattern!r}); do it another way")


def _command(action: Action) -> Command | None:
    match action:
        case Run(command):
            return command
        case Edit(_, check):
            return check
        case _:
            return None


def _too_long(action: Action, rules: Rules) -> Iterator[Objection]:
    command = _command(action)
    limit = rules.policy.max_timeout
    if command and command.timeout and command.timeout > limit:
        yield Objection("/action/timeout",
                        f"expected at most {limit} seconds, got {command.timeout}")
    if isinstance(action, Search):
        yield from _bad_regex(action.pattern)


def _external(action: Action, rules: Rules) -> Iterator[Objection]:
    """A check may be run any number of times, and what changes something elsewhere may not."""
    if isinstance(action, Edit) and action.check and rules.policy.listed(action.check):
        yield Objection("/action/check", "this command changes something outside the worktree; "
                        "`run` it, by itself")


def _bad_regex(pattern: str) -> Iterator[Objection]:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        yield Objection("/action/pattern", f"not a regular expression: {fault}")


def _nul(action: Action) -> list[Objection]:
    """No program can be handed a NUL."""
    words = _handed(action)
    if not any("\0" in word for word in words):
        return []
    return [Objection("/action", "must not contain the character NUL (\\u0000)")]


def _handed(action: Action) -> tuple[str, ...]:
    """Every word of the action that reaches a program as an argument."""
    match action:
        case Run(command):
            return command.argv
        case Edit(_, check):
            return check.argv if check else ()
        case Search(pattern, glob):
            return (pattern, glob)
        case Commit(message):
            return (message,)
        case _:
            return ()


def _controlled(action: Action, facts: Facts) -> Iterator[Objection]:
    """What no edit may name, no Git commit may hold either: commands change files too."""
    for path in sorted(facts.changed) if isinstance(action, Commit) else ():
        if path.split("/")[0] in CONTROLLED:
            yield Objection("/action", f"{quoted(path)} belongs to the user and was changed by a "
                            "command; put it back")


def _protected(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """An edit is judged by what it names, a Git commit by what it holds: commands change files too.
    """
    action = candidate.transition.action
    committed = isinstance(action, Commit)
    for path in sorted(facts.changed - facts.agreed if committed else set(touched(action))):
        if rules.policy.protects(path, new=path not in facts.base_paths):
            yield Objection("/action", f"{quoted(path)} is protected: a person must agree first")
