"""What is known already: the same action over the same files has the same result (*Ledger*).

Only what follows from the files is answered so: reads, searches, and the commands that the user
named as tests. A command that ran in between may have changed what Git ignores: it ends the look.
"""

from dataclasses import dataclass

from controller.core.action import Action, Read, Run, Search
from controller.core.canonical import JsonObject, entries
from controller.core.head import RunId
from controller.core.ports import Trail
from controller.core.records import Effect
from controller.core.tier import Tier

KNOWN = "Known from step "
"""How what is shown of a known result begins."""

_LOOKED_AT = 30  # audit records
_HARMLESS = ("read", "search", "recall", "ask", "wait", "finish")


@dataclass(frozen=True, slots=True)
class Known:
    """A result in the record: the step that it is of, what was shown of it, and its whole output.
    """

    step: int
    text: str
    summary: str
    output: bytes


def known(trail: Trail, run: RunId, effect: Effect, tests: frozenset[str],
          tier: Tier | None) -> Known | None:
    """The recorded result of the effect's action over this very worktree, in the same sandbox, if
    there is one.
    """
    if not _repeatable(effect.candidate.transition.action, tests):
        return None
    wanted = _asked(entries(effect.candidate.transition.document["action"]))
    for record in reversed(trail.latest(run, _LOOKED_AT)):
        if record["kind"] != "committed":
            continue
        action, outcome = entries(record["action"]), entries(record["outcome"])
        if str(record["observation"]).startswith(KNOWN):
            continue  # it was answered from the record itself
        if _asked(action) == wanted and _same_files(outcome, effect) and outcome["tier"] == tier:
            whole = trail.artifact(str(outcome["artifact"])) if outcome["artifact"] else b""
            return None if whole is None or outcome["status"] != "done" else Known(
                int(str(record["step"])), str(record["observation"]), str(outcome["summary"]),
                whole)
        if action["kind"] not in _HARMLESS:
            return None
    return None


def _repeatable(action: Action, tests: frozenset[str]) -> bool:
    match action:
        case Read() | Search():
            return True
        case Run(command, force):
            return str(command) in tests and not (force or command.tty or command.network)
        case _:
            return False


def _asked(action: JsonObject) -> JsonObject:
    """The action without what does not change its result."""
    return {key: value for key, value in action.items() if key not in ("force", "timeout")}


def _same_files(outcome: JsonObject, effect: Effect) -> bool:
    source = effect.source
    return (outcome.get("tree_before") == outcome.get("tree") == source.tree
            and outcome.get("extras") == source.extras)
