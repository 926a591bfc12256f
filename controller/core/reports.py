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

_TAP = re.compile(r"^(?P<indent> *)(?P<ok>ok|not ok)\b(?: +(?P<number>\d+))?(?: *-)? *"
                  r"(?P<name>[^#\n]*?) *(?:# *(?P<directive>skip|todo)\S*(?P<why>.*))?$", re.I)
_PLAN = re.compile(r"^1\.\.(\d+)")


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
    """
    found, promised, seen, path = [], 0, 0, [""]
    for line in output.splitlines():
        plan, hit = _PLAN.match(line), _TAP.match(line)
        if plan:
            promised = int(plan[1])
        elif hit:
            depth = len(hit["indent"]) // 4
            seen += depth == 0
            name = hit["name"] or f"test {hit['number'] or seen}"
            path = [*path[:depth], *[""] * (depth - len(path)), name]
            found.append(("::".join(filter(None, ("tap", *path[:depth], name))), _tapped(hit)))
        elif line.startswith("Bail out!"):
            found.append((f"tap::{line}", Result.FAILED))
    if seen < promised:
        found.append((f"tap::{promised - seen} of {promised} tests that were planned",
                      Result.FAILED))
    return results_of(found)


def line_coverage(document: bytes) -> float:
    """The share of lines that a Cobertura report says are covered, 0 to 1. Raises Unreadable."""
    rate = _root(document).get("line-rate")
    try:
        return float(rate or "")
    except ValueError:
        raise Unreadable("it is no Cobertura report: its root has no line-rate") from None


def _cases(document: bytes) -> Iterator[tuple[str, Result]]:
    for case in _root(document).iter("testcase"):
        group, name = case.get("classname") or case.get("file") or "", case.get("name") or ""
        yield f"{group}::{name}", _result({child.tag for child in case}, case.get("status") or "")


def _result(tags: set[str], status: str) -> Result:
    if tags & {"failure", "error"}:
        skipped = "skipped" in tags  # node writes both of a TODO
        return Result.SKIPPED if skipped else Result.FAILED
    if tags & {"flakyFailure", "flakyError", "rerunFailure", "rerunError", "rerun"}:
        return Result.FLAKY
    if "skipped" in tags or status in ("notrun", "disabled"):
        return Result.SKIPPED
    return Result.FAILED if status == "fail" else Result.PASSED


def _tapped(hit: re.Match[str]) -> Result:
    if hit["directive"]:
        return Result.SKIPPED
    return Result.PASSED if hit["ok"].lower() == "ok" else Result.FAILED


def _root(document: bytes) -> "Element":
    from xml.etree import ElementTree

    if re.search(rb"<!(?:DOCTYPE|ENTITY)", document, re.I) or b"\0" in document:
        raise Unreadable("it has a DOCTYPE, or is not UTF-8")
    try:
        return ElementTree.fromstring(document)  # noqa: S314  (without entities, looked at above)
    except ElementTree.ParseError as fault:
        raise Unreadable(f"it is no XML: {fault}") from None
