"""Judging gate: what actions may be, in any repository and in this one.

No safety rests on reading a command line: `forbid` and `confirm` patterns are a hint to an honest
model. What a command can reach is the executor's business.
"""

import re
from collections.abc import Iterator

from controller.core.action import (
    Action,
    Commit,
    Delete,
    Edit,
    Read,
    Run,
    Search,
    command_of,
    touched,
)
from controller.core.facts import Facts
from controller.core.observation import quoted
from controller.core.path import is_controlled, namesake, path_fault, twins, unportable
from controller.core.pointer import pointer
from controller.core.records import Candidate
from controller.core.rules import Rules
from controller.core.tier import Tier
from controller.core.verdict import Decision, Objection, Verdict, judged

_MANY_FILES, _MANY_REMOVED, _MANY_BYTES = 50, 10, 1024 * 1024
_SHARE = 5  # one in so many files of the base may be removed at once

_TRAILERS = re.compile(
    r"(?im)^\s{0,8}(?:signed-off-by|co-authored-by|reviewed-by|acked-by|oneshot-[a-z]{1,20})\s{0,4}:"
    r"|\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|\*\*\*NO_CI\*\*\*|^skip-checks:"
    r"|\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s{1,4}(?:[\w./-]{0,80})#\d")
"""What a forge, CI or a reader takes a Git commit's message at its word for."""

EXPOSED = "text from outside was shown since the user last spoke, so a person must agree first"

_KINDS = {"120000": "a symbolic link", "160000": "a repository of its own",
          "100755": "made executable"}
"""Modes that are never implied by an edit, and what they mean."""


def action_policy(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse bad paths and forbidden commands; ask about what needs a person."""
    action = candidate.transition.action
    refused = [*_bad_paths(action), *_commands(action, rules.policy.forbidden_commands,
                                               "the policy forbids this command")]
    refused += [*_too_long(action, rules), *_nul(action), *_controlled(action, facts),
                *_external(action, rules), *_names(action, facts), *_message(action),
                *_no_hosts(action, rules)]
    if refused:
        return judged("action policy", refused)
    asked = [*_protected(candidate, facts, rules), *_outside(candidate, facts, rules),
             *_much(action, facts), *_odd(action, facts), *_commands(
        action, rules.policy.confirm_commands, "the policy asks a person about this command")]
    return judged("action policy", asked, Decision.CONFIRM)


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
    command = command_of(action)
    for pattern in patterns if command else ():
        if re.search(pattern, str(command)):
            yield Objection("/action", f"{why} (it matches {pattern!r})")


def _too_long(action: Action, rules: Rules) -> Iterator[Objection]:
    command = command_of(action)
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
        if is_controlled(path):
            yield Objection("/action", f"{quoted(path)} belongs to the user and was changed by a "
                            "command; put it back")


def _protected(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """An edit is judged by what it names, a Git commit by what it holds: commands change files too.
    """
    action = candidate.transition.action
    committed = isinstance(action, Commit)
    for path in sorted(facts.changed - facts.agreed if committed else set(touched(action))):
        if rules.policy.protects(path, facts.base_paths):
            yield Objection("/action", f"{quoted(path)} is protected: a person must agree first")


def _names(action: Action, facts: Facts) -> Iterator[Objection]:
    """Two names that some systems hold for one would be one file there."""
    named = touched(action)
    pair = twins(named)
    if pair:
        yield Objection("/action/changes", f"{pair[0]!a} and {pair[1]!a} are one file on many "
                        "systems; choose another name")
    there = facts.base_paths | facts.changed
    for path in named:
        odd = None if path in there or path_fault(path) else unportable(path)
        if odd:
            yield Objection("/action/changes", f"the new path {path!a} {odd}; choose another name")
        other = None if path in there else namesake(path, there)
        if other:
            yield Objection("/action/changes", f"{path!a} is the same file as {other!a} on many "
                            "systems; choose another name")


def _message(action: Action) -> Iterator[Objection]:
    if isinstance(action, Commit):
        yield from orders(action.message, "/action/message")


def orders(text: str, path: str) -> Iterator[Objection]:
    """What a text for others has at `path` that would be taken for more than words."""
    hit = _TRAILERS.search(text)
    if hit:
        yield Objection(path, f"{hit[0].strip()!r} would be taken for an order or a signature; say "
                        "in words what was done")


def _no_hosts(action: Action, rules: Rules) -> Iterator[Objection]:
    if isinstance(action, Run) and action.command.network and not rules.policy.network.hosts:
        yield Objection("/action/network", "the policy names no host that may be reached "
                        "(network.hosts); do without, or ask")


def _outside(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """What reaches beyond the worktree. The user's list is his word, as long as nobody else's words
    have come before the model since he last spoke, and the walls can hold what he has listed.
    """
    action = candidate.transition.action
    if not isinstance(action, Run):
        return
    listed = rules.policy.listed(action.command)
    granted = listed is not None or str(action.command) in rules.policy.network.pre_granted
    if action.command.network and not granted:
        yield Objection("/action/network", "a person must agree to the network for this command: "
                        f"{', '.join(rules.policy.network.hosts)}")
    if granted and candidate.base.exposed:
        yield Objection("/action", EXPOSED)
    elif granted and facts.tier not in (None, Tier.BUBBLEWRAP):
        yield Objection("/action", f"in sandbox tier {facts.tier} what it reaches can't be held to "
                        "what you have listed; a person must agree first")


def _much(action: Action, facts: Facts) -> Iterator[Objection]:
    """An action that changes so much at once is more than a person will have meant."""
    match action:
        case Edit(changes):
            files = len({*touched(action)})
            removed = sum(isinstance(change, Delete) for change in changes)
            size = sum(len(str(change)) for change in changes)
        case Commit():
            files = len([item for item in facts.pending if item.path not in facts.agreed])
            removed = sum(item.removed for item in facts.pending)
            size = sum(len(line.text) + 1 for line in facts.added)
        case _:
            return
    allowed = max(_MANY_REMOVED, len(facts.base_paths) // _SHARE)
    for bad, words in ((files > _MANY_FILES, f"{files} files are changed"),
                       (removed > allowed, f"{removed} files are removed"),
                       (size > _MANY_BYTES or facts.uncounted, "more than 1 MiB is added")):
        if bad:
            yield Objection("/action", f"{words} at once; a person must agree first")


def _odd(action: Action, facts: Facts) -> Iterator[Objection]:
    """What commands have made that no edit could: kinds and names of files."""
    for item in facts.pending if isinstance(action, Commit) else ():
        if item.path in facts.agreed or item.removed:
            continue
        odd = [f"is {_KINDS[item.after]}"] if item.after in _KINDS and (
            item.before != item.after) else []
        if item.before == "000000":
            odd += filter(None, (path_fault(item.path), unportable(item.path)))
            other = namesake(item.path, facts.base_paths)
            odd += [f"is the same file as {other!a} on many systems"] if other else []
        for words in odd:
            yield Objection("/action", f"{quoted(item.path)} {words}; a person must agree first")
