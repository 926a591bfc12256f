"""Audit records told to people, a line each."""

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
    failed = entries(record.get("outcome")).get("status") == "failed"
    good = {"committed": not failed, "refused": False, "parked": None, "unknown": None}
    sign = MARKS[good[kind]] if kind in good else " "
    return f"{step!s:>4} {sign} {_what(kind, record)}"


def _what(kind: str, record: JsonObject) -> str:  # noqa: PLR0911  (one return a kind)
    match kind:
        case "committed":
            return _committed(record)
        case "refused":
            return f"refused: {_said(record)}"
        case "parked":
            return f"waits for a person: {record['confirmation']}: {_said(record)}"
        case "created":
            return f"run {record['run']} from {str(record['base'])[:12]}: {record['goal']}"
        case "unanswered":
            return f"the model did not answer: {first_line(str(record['reason']))}"
        case "said":
            return f"the user says: {first_line(str(record['text']))}"
        case "stopped" | "resumed":
            return f"{kind}: {entries(record.get('stopped')).get('reason', '')}"
        case _:
            return f"{kind} {record.get('confirmation', '')}".rstrip()


def _committed(record: JsonObject) -> str:
    action, stopped = entries(record["action"]), entries(record.get("stopped"))
    summary = str(entries(record["outcome"])["summary"])
    said = f"{first_line(identity(parse(action)), 70)} → {first_line(summary, 60)}"
    end = f" | {stopped['why']}: {stopped['reason']}" if stopped else ""
    return f"v{record['version']} {said}{end}"


def _said(record: JsonObject) -> str:
    return first_line("; ".join(objections(record)), 200)
