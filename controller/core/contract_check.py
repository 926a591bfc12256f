"""What is wrong with a contract that its schema allows: limits that are none, paths out of reach.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from controller.core.canonical import JsonObject, entries, members, texts
from controller.core.glob import glob_fault, matches_in_any_case
from controller.core.path import path_fault
from controller.core.pointer import pointer
from controller.core.verdict import Objection

TOLD = ("text", "source", "owner", "retention", "freshness", "change_policy")
"""What every constraint may say, beside what it limits."""

_GLOBS = ("allow_paths", "forbid_paths", "protect_paths")

_PASSES = re.compile(r"(?:\|\||;|&&)\s*(?:true|:|exit 0)\s*$|\|\|\s*(?:true|:|echo\b|exit 0)|"
                     r"--if-present\b|--passWithNoTests\b|\bset \+e\b|;\s*echo\b[^;|&]*$")
"""What makes a command line exit with 0 whatever it finds."""

_HIDES = re.compile(r"(?<!\|)\|&?\s*(tee|cat|head|tail|less|more|sed|tr|sort|uniq|wc|nl|column)\b"
                    r"[^|]*$")
"""A last command of a pipe that exits with 0 whatever comes before it; sh knows no pipefail."""

_INVERTED = re.compile(r"\bgrep\s+(?:-\w+\s+)*(?:-[A-Za-z]*v[A-Za-z]*|--invert-match)\b[^|]*$")
"""A grep that is content when any line at all is another."""


def doubts(contract: JsonObject) -> Iterator[Objection]:
    """Every fault of a contract as people write it, with a JSON Pointer into it."""
    yield from _twice(contract)
    for index, item in enumerate(map(entries, members(contract.get("constraints")))):
        yield from _limits(item, pointer("constraints", index))
    for field in ("must_remember", "priority_order"):
        for index, said in enumerate(members(contract.get(field))):
            if entries(said).get("retention") == "listed":
                yield Objection(pointer(field, index, "retention"),
                                "what stands here stands in every prompt; leave it out")
    for id, criterion in entries(contract.get("success_criteria")).items():
        yield from _check(contract, entries(entries(criterion).get("check")),
                          pointer("success_criteria", id, "check"))


def pattern_fault(pattern: str) -> str | None:
    """Why a text is no regular expression; None: it is one."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        return f"expected a regular expression: {fault}"
    return None


def _twice(contract: JsonObject) -> Iterator[Objection]:
    """Two limits of one kind would not mean one thing."""
    seen: set[str] = set()
    for index, item in enumerate(members(contract.get("constraints"))):
        for key in entries(item):
            if key in seen and key not in TOLD:
                yield Objection(pointer("constraints", index, key), "stands twice; keep one")
            seen.add(key)


def _limits(item: JsonObject, path: str) -> Iterator[Objection]:
    globs = {key: members(item.get(key)) for key in _GLOBS}
    globs["public_api/paths"] = members(entries(item.get("public_api")).get("paths"))
    for key, patterns in globs.items():
        for number, glob in enumerate(map(str, patterns)):
            fault = glob_fault(glob)
            if fault:
                yield Objection(f"{path}/{key}/{number}", f"the pattern {glob!r} {fault}")
    for number, text in enumerate(members(item.get("forbid_commands"))):
        fault = pattern_fault(str(text))
        if fault:
            yield Objection(path + pointer("forbid_commands", number), fault)
    try:
        datetime.fromisoformat(str(item.get("deadline") or "2026-01-05T08:00:00+00:00"))
    except ValueError as why:
        yield Objection(path + pointer("deadline"),
                        f"expected a moment such as 2026-12-02T07:30:00Z: {why}")


def _check(contract: JsonObject, check: JsonObject, path: str) -> Iterator[Objection]:
    line = str(check.get("shell", ""))
    for pattern, why in (
            (_PASSES, "lets the check pass whatever it finds; take it out"),
            (_HIDES, "hides the exit code of what comes before it; leave it out, or write to a "
                     "file"),
            (_INVERTED, "is content when any line at all does not match; write `! grep …`")):
        hit = pattern.search(line)
        if hit:
            yield Objection(f"{path}/shell", f"{hit[0].strip()!r} {why}")
    words = " ".join(map(str, members(check.get("argv"))))
    if _INVERTED.search(words):
        yield Objection(f"{path}/argv", "a grep for what does not match is content when any line "
                        "at all is another; use a shell line with `! grep …`")
    yield from _patterns(check, path)
    yield from _reports(check, path)
    to = entries(check.get("held_out")).get("to")
    fault = path_fault(str(to)) if to else None
    if fault:
        yield Objection(f"{path}/held_out/to", f"{to!r} {fault}")
    file = check.get("file")
    if isinstance(file, str):
        fault = path_fault(file) or _out_of_reach(contract, file)
        if fault:
            yield Objection(f"{path}/file", f"{file!r} {fault}")


def _reports(check: JsonObject, path: str) -> Iterator[Objection]:
    """Where reports are looked for: in the export, or below the folder outside it."""
    tests = entries(check.get("tests"))
    for where, pattern in ((f"{path}/tests/report", str(tests.get("report") or "")),
                           (f"{path}/coverage", str(check.get("coverage") or ""))):
        inside = pattern.removeprefix("$ONESHOT_REPORT/")
        if not pattern or (pattern == "tap" and where.endswith("report")):
            continue
        if inside.startswith("/") or ".." in inside.split("/") or "$" in inside:
            yield Objection(where, f"{pattern!r} is outside the worktree; name a pattern in it, or "
                            "below $ONESHOT_REPORT/")
        elif "." not in inside.rpartition("/")[2]:
            yield Objection(where, f"{pattern!r} is no file's name: expected a pattern such as "
                            "target/*.xml" + (", or tap" if where.endswith("report") else ""))


def _patterns(check: JsonObject, path: str) -> Iterator[Objection]:
    fault = pattern_fault(str(check.get("output", "")))
    if fault:
        yield Objection(f"{path}/output", fault)
    runs = entries(check.get("runs"))
    wanted, of = runs.get("pass", 1), runs.get("of", 1)
    if isinstance(wanted, int) and isinstance(of, int) and wanted > of:
        yield Objection(f"{path}/runs/pass", f"expected at most {of}, since it is run {of} times; "
                        f"got {wanted}")


def _out_of_reach(contract: JsonObject, file: str) -> str | None:
    """Why the contract itself keeps a run from bringing a file about."""
    for index, item in enumerate(members(contract.get("constraints")), 1):
        globs = texts(entries(item).get("forbid_paths"))
        if matches_in_any_case(file, globs):
            return (f"is out of reach: constraint-{index} forbids to change it, so nothing that "
                    "the run does can prove this")
    return None
