"""Audit records told to people, a line each."""

from collections.abc import Callable
from dataclasses import dataclass

from controller.core.action import identity
from controller.core.canonical import JsonObject, entries, members
from controller.core.observation import first_line
from controller.core.parse import parse

MARKS = {True: "✓", False: "✗", None: "?"}
"""A mark for yes, no and unknown."""


@dataclass(slots=True)
class Narrator:
    """Tells audit records in order, and where somebody else changed the worktree between two."""

    tree: str = ""

    def tell(self, record: JsonObject) -> list[str]:
        """The record in a line for a person, after a line about drift if there was some."""
        before, self.tree = self.tree, str(entries(record.get("outcome")).get("tree") or self.tree)
        drifted = drifted_from(before, record)
        drift = ["       drift: somebody else changed files; they are taken over as they are"]
        return [*(drift if drifted else []), sentence(record)]


def drifted_from(tree: str, record: JsonObject) -> bool:
    """Whether somebody else had changed the worktree since it was at `tree`, before this record."""
    before = entries(record.get("outcome")).get("tree_before")
    return bool(tree) and before is not None and before != tree


def objections(record: JsonObject) -> list[str]:
    """Every objection of a record's verdicts: where, and what."""
    return [f"{objection['path']}: {objection['message']}".removeprefix(": ")
            for verdict in map(entries, members(record.get("verdicts")))
            for objection in map(entries, members(verdict["objections"]))]


def sentence(record: JsonObject) -> str:
    """An audit record in one line for a person."""
    step, kind = record.get("step", ""), str(record["kind"])
    failed = entries(record.get("outcome")).get("status") == "failed" or any(
        item["finding"] == "failing" for item in map(entries, members(record.get("evidence")))
        if kind == "committed" and entries(record["action"])["kind"] != "amend")
    good = {"committed": not failed, "refused": False, "parked": None, "unknown": None}
    sign = MARKS[good[kind]] if kind in good else " "
    return f"{step!s:>4} {sign} {_what(kind, record)}"


def _what(kind: str, record: JsonObject) -> str:
    told = _TOLD.get(kind)
    return told(record) if told else f"{kind} {record.get('confirmation', '')}".rstrip()


def action_line(record: JsonObject) -> str:
    """The action of a record in a few words."""
    return first_line(identity(parse(entries(record["action"]))), 70)


def _committed(record: JsonObject) -> str:
    stopped = entries(record.get("stopped"))
    summary = str(entries(record["outcome"])["summary"])
    broke = [str(item["subject"]) for item in map(entries, members(record.get("evidence")))
             if item["finding"] == "failing" and entries(record["action"])["kind"] in _UNDONE]
    if broke:
        summary = "undone: " + ", ".join(name.rpartition(":")[2] for name in broke)
    said = f"{action_line(record)} → {first_line(summary, 60)}"
    end = f" | {stopped['why']}: {stopped['reason']}" if stopped else ""
    return f"v{record['version']} {said}{end}"


_UNDONE = ("run", "edit")
"""Kinds of actions that are undone when evidence fails: they broke a constraint."""

_RECOVERY: dict[tuple[str, object], str] = {
    ("external", True): "it happened, and is recorded",
    ("external", False): "it did not happen, and is done now",
    ("external", None): "nobody can tell whether it happened; a person must say",
    ("workspace", None): "the worktree is restored to what it was before, and it is done again",
    ("pure", None): "it is done again",
}
"""(effect class, whether it happened) -> what recovery does."""


def _found(record: JsonObject) -> str:
    kind = str(record["effect_class"])
    does = _RECOVERY[kind, record["happened"]]
    return (f"found open: {action_line(record)} ({kind}): "
            f"{first_line(str(record['text']), 240)}; {does}")


def _said(record: JsonObject) -> str:
    return first_line("; ".join(objections(record)), 200)


def _decided(record: JsonObject) -> str:
    return (f"a person says of {record['confirmation']}: it "
            + ("happened" if record["happened"] else "did not happen"))


def _stood(record: JsonObject) -> str:
    return f"{record['kind']}: {entries(record.get('stopped')).get('reason', '')}"


_TOLD: dict[str, Callable[[JsonObject], str]] = {
    "created": lambda record: (
        f"run {record['run']} from {str(record['base'])[:12]}: {record['goal']}"),
    "committed": _committed,
    "refused": lambda record: f"refused: {_said(record)}",
    "parked": lambda record: f"waits for a person: {record['confirmation']}: {_said(record)}",
    "unanswered": lambda record: f"no reply from {first_line(str(record['reason']), 320)}",
    "switched": lambda record: (
        f"{record['model']} is asked instead of {record['from'] or 'nobody'}: "
        f"{first_line(str(record['reason']))}"),
    "lost": lambda record: str(record["reason"]),
    "said": lambda record: f"the user says: {first_line(str(record['text']))}",
    "found": _found,
    "decided": _decided,
    "stopped": _stood,
    "resumed": _stood,
    "abandoned": lambda record: f"given up while it was open: {action_line(record)}",
    "asked again": lambda record: f"{record['confirmation']} is asked again: {record['text']}",
    "answer refused": lambda record: (
        f"an answer to {record['confirmation']} counts for nothing: {record['text']}"),
    "intent": lambda record: f"the user changes the contract (version {record['contract']}): "
                             f"{first_line(str(record['text']), 120)}",
    "conflict": lambda record: (
        f"the user says something against {record['against']}, so he is asked "
        f"({record['confirmation']}): {first_line(str(record['text']))}"),
    "unsaid": lambda record: f"taken back by the user: {first_line(str(record['text']))}",
    "migrated": lambda record: (
        f"v{record['version']} the state is brought to another version of its schema"),
    "wish": lambda record: f"the user wants it to {record['text']}",
    "imported": lambda record: str(record["reason"]),
}
"""Kind of record -> how it is told."""
