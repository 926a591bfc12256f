"""Reports of test runners, read: JUnit XML in its dialects, TAP, and Cobertura's coverage.

Counts that a report states of itself are not believed; every test case in it is counted, wherever
it stands. A document with a DOCTYPE is refused: its entities could be without end.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from controller.core.results import Result, Results, results_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LARGEST = 64 * 1024 * 1024
"""Bytes of a report that are read."""

_POINT = re.compile(r"(not )?ok(?: (\d{1,9}))?(?: -)?(?: |$)", re.IGNORECASE)
_PLAN = re.compile(r"1\.\.(\d{1,9})")
_LONGEST = 1000  # characters of a line that are looked at
_INDENT = 4  # spaces by which a subtest is moved


class Unreadable(ValueError):
    """Why something is no report, in words."""


def junit(document: bytes) -> Results:
    """The results in a JUnit document: pytest, jest, go-junit-report, surefire, ctest, node.

    A test that is told of twice (it failed, and so did its tear-down) has ended in the worse way.
    Raises Unreadable.
    """
    return results_of(_cases(document))


def tap(output: str) -> Results:
    """The results in a TAP stream (Test Anything Protocol 13 and 14).

    `not ok … # TODO` counts as skipped. A plan that promises more tests than came is a failure.
    What `# Subtest:` names stands in the ids of what is indented below it.
    """
    found, promised, seen, above = [], 0, 0, dict[int, str]()
    for line in (line[:_LONGEST] for line in output.splitlines()):
        text = line.lstrip(" ")
        depth = (len(line) - len(text)) // _INDENT
        plan, hit = _PLAN.match(line), _POINT.match(text)
        if plan:
            promised = int(plan[1])
        elif text.startswith("# Subtest: "):
            above[depth] = text.removeprefix("# Subtest: ").strip()
        elif hit and text.strip().lower() not in ("ok", "not ok"):  # prove says it of a file
            seen += depth == 0
            name, _, directive = text[hit.end():].partition("#")
            name = name.strip() or f"test {hit[2] or seen}"
            groups = [above[at] for at in range(depth) if at in above]
            found.append(("::".join(("tap", *groups, name)), _tapped(hit, directive)))
        elif line.startswith("Bail out!"):
            found.append((f"tap::{line}", Result.FAILED))
    if seen < promised:
        found.append((f"tap::{promised - seen} of {promised} tests that were planned",
                      Result.FAILED))
    return results_of(found)


def line_coverage(document: bytes) -> float:
    """The share of lines that a Cobertura report says are covered, 0 to 1. Raises Unreadable."""
    root = _root(document)
    rate = root.get("line-rate") if _tag(root) == "coverage" else None
    try:
        share = float(rate or "")
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise Unreadable("it is no Cobertura report: its root has no line-rate of 0 to 1")
    return share


def _cases(document: bytes) -> Iterator[tuple[str, Result]]:
    for element in _root(document).iter():
        tag = _tag(element)
        tags = set(map(_tag, element))
        group, name = element.get("classname") or element.get("file") or "", element.get("name")
        if tag == "testcase":
            said = {(element.get(word) or "").lower() for word in ("status", "result")}
            yield f"{group}::{name or ''}", _result(tags, said)
        elif tag.startswith("testsuite") and tags & {"failure", "error"}:
            yield f"{name or ''}::(the suite itself)", Result.FAILED


def _tag(element: "Element") -> str:
    """The name of an element, in whatever namespace and case."""
    return str(element.tag).rpartition("}")[2].lower()


def _result(tags: set[str], said: set[str]) -> Result:
    if tags & {"failure", "error"}:
        skipped = "skipped" in tags  # node writes both of a TODO
        return Result.SKIPPED if skipped else Result.FAILED
    if tags & {"flakyfailure", "flakyerror", "rerunfailure", "rerunerror", "rerun"}:
        return Result.FLAKY
    if "skipped" in tags or said & _NOT_RUN:
        return Result.SKIPPED
    return Result.PASSED if said <= _GOOD else Result.FAILED


_GOOD = frozenset({"", "passed", "pass", "run", "completed", "success", "ok"})
_NOT_RUN = frozenset({"skipped", "skip", "notrun", "disabled", "ignored", "pending", "todo",
                      "suppressed"})
"""What `status` and `result` say, where they are written; anything else is no success."""


def summary(output: str) -> Results | None:
    """What unittest says of tests it does not name: how many have run, failed and were skipped.
    None when it has said nothing.
    """
    ran = re.findall(r"^Ran (\d{1,9}) tests? in ", output, re.MULTILINE)
    if not ran:
        return None
    word = re.findall(r"^(?:OK|FAILED)(?: \(([a-z =,0-9]{1,200})\))?$", output, re.MULTILINE)
    told = dict(re.findall(r"([a-z ]+)=(\d{1,9})", word[-1] if word else "failures=1"))
    counts = {name.strip(): int(count) for name, count in told.items()}
    skipped = sum(counts.get(name, 0) for name in ("skipped", "expected failures"))
    failed = sum(counts.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    passed = max(0, int(ran[-1]) - skipped - failed)
    return results_of((f"{SUMS}{result.value} {number + 1}", result) for result, count in (
        (Result.PASSED, passed), (Result.FAILED, failed), (Result.SKIPPED, skipped))
        for number in range(min(count, _COUNTED)))


SUMS = "unittest::"
"""How the ids of tests begin that are told of by their number only."""

_COUNTED = 20_000


def _tapped(hit: re.Match[str], directive: str) -> Result:
    if directive.strip().lower().startswith(("skip", "todo")):
        return Result.SKIPPED
    return Result.FAILED if hit[1] else Result.PASSED


def _root(document: bytes) -> "Element":
    from xml.etree import ElementTree

    if re.search(rb"<!(?:DOCTYPE|ENTITY)", document, re.I) or b"\0" in document:
        raise Unreadable("it has a DOCTYPE, or is not UTF-8")
    try:
        return ElementTree.fromstring(document)  # noqa: S314  (without entities, looked at above)
    except (ElementTree.ParseError, ValueError, LookupError) as fault:  # an encoding of its own
        raise Unreadable(f"it is no XML: {fault}") from None
