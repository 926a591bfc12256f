"""The canary: a test of ours among the project's, to see that its runner tells of failures.

It looks like the tests around it: a file named like one of them, a test named like one of theirs.
When it runs it leaves its mark beside the report, so it is known whether it was collected at all.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

_PYTHON = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_NODE = re.compile(r"\.test\.[cm]?js$")
_RUNS_PYTHON = re.compile(r"\b(?:py\.?test|unittest)\b")
_RUNS_NODE = re.compile(r"\bnode\b.*--test\b")

_FUNCTION = """import os


def {name}():
    with open(os.environ["ONESHOT_REPORT"] + "/{mark}", "w"):
        pass
    assert {left} == {right}
"""

_METHOD = """import os
import unittest


class {group}(unittest.TestCase):
    def {name}(self):
        with open(os.environ["ONESHOT_REPORT"] + "/{mark}", "w"):
            pass
        self.assertEqual({left}, {right})
"""

_SCRIPT = """import {{ test }} from "node:test";
import {{ equal }} from "node:assert/strict";
import {{ writeFileSync }} from "node:fs";

test("{name}", () => {{
  writeFileSync(process.env.ONESHOT_REPORT + "/{mark}", "");
  equal({left}, {right});
}});
"""


def canary_beside(line: str, paths: Sequence[str], mark: str, text: Callable[[str], str], *,
                  fails: bool) -> tuple[str, str] | None:
    """The path and the content of a canary for a command line, beside one of the repository's
    tests; None when its runner takes none. `text` of a path is its content.
    """
    left, right = int(mark[:3], 16), int(mark[:3], 16) + fails
    if _RUNS_PYTHON.search(line):
        beside = _one(line, paths, _PYTHON)
        return _in_python(beside, text(beside), mark, (left, right)) if beside else None
    if _RUNS_NODE.search(line):
        beside = _one(line, paths, _NODE)
        return _in_node(beside, text(beside), mark, (left, right)) if beside else None
    return None


def _in_node(beside: str, text: str, mark: str, values: tuple[int, int]) -> tuple[str, str]:
    place = PurePosixPath(beside)
    name = _first(r"\b(?:test|it)\(['\"]([\w ]+)['\"]", text, "works")
    return str(place.with_name(f"{place.name.partition('.')[0]}-{mark}.test.mjs")), _SCRIPT.format(
        name=name, mark=mark, left=values[0], right=values[1])


def _in_python(beside: str, text: str, mark: str, values: tuple[int, int]) -> tuple[str, str]:
    place = PurePosixPath(beside)
    stem = (f"{place.stem}_{mark}" if place.stem.startswith("test_")
            else f"{place.stem.removesuffix('_test')}_{mark}_test")
    form = _METHOD if "unittest" in text else _FUNCTION
    return str(place.with_name(f"{stem}.py")), form.format(
        name=_first(r"\bdef (test_\w+)", text, "test_more"), mark=mark,
        group=_first(r"\bclass (\w+)\(.*TestCase\)", text, "MoreTest"),
        left=values[0], right=values[1])


def _one(line: str, paths: Sequence[str], wanted: re.Pattern[str]) -> str | None:
    """A test file of the repository, rather one that the command line names."""
    tests = [path for path in paths if wanted.search(path)]
    named = [path for path in tests if path in line or path.removesuffix(".py").replace(
        "/", ".") in line or PurePosixPath(path).parts[0] in line.split()]
    return next(iter((*named, *tests)), None)


def _first(pattern: str, text: str, otherwise: str) -> str:
    hit = re.search(pattern, text)
    return hit[1] if hit else otherwise
