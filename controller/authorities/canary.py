"""The canary: a test of ours among the project's, to see that its runner tells of failures.

The one that must fail is one of theirs, in a file of its own: the same imports, the same calls of
the product, and at the end a comparison of ours. When it begins it leaves its mark beside the
report, so it is known whether it was collected at all. Where theirs can't be read, it only looks
like one.
"""

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

_PYTHON = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_NODE = re.compile(r"\.test\.[cm]?js$")
_RUNS_PYTHON = re.compile(r"\b(?:py\.?test|unittest)\b")
_RUNS_NODE = re.compile(r"\bnode\b.*--test\b")

_LEAVES = """import os as _os
_place = _os.environ.get("ONESHOT_REPORT")
if _place:
    with open(_place + "/{mark}", "w"):
        pass
"""

_FUNCTION = """import os


def {name}():
    place = os.environ.get("ONESHOT_REPORT")
    if place:
        with open(place + "/{mark}", "w"):
            pass
    assert {left} == {right}
"""

_METHOD = """import os
import unittest


class {group}(unittest.TestCase):
    def {name}(self):
        place = os.environ.get("ONESHOT_REPORT")
        if place:
            with open(place + "/{mark}", "w"):
                pass
        self.assertEqual({left}, {right})
"""

_SCRIPT = """import {{ test }} from "node:test";
import {{ equal }} from "node:assert/strict";
import {{ writeFileSync }} from "node:fs";

test("{name}", () => {{
  const place = process.env.ONESHOT_REPORT;
  if (place) writeFileSync(place + "/{mark}", "");
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
        return _in_python(beside, text(beside), mark, (left, right), like=fails) if beside else None
    if _RUNS_NODE.search(line):
        beside = _one(line, paths, _NODE)
        return _in_node(beside, text(beside), mark, (left, right)) if beside else None
    return None


def _in_node(beside: str, text: str, mark: str, values: tuple[int, int]) -> tuple[str, str]:
    place = PurePosixPath(beside)
    name = _first(r"\b(?:test|it)\(['\"]([\w ]+)['\"]", text, "works")
    return str(place.with_name(f"{place.name.partition('.')[0]}-{mark}.test.mjs")), _SCRIPT.format(
        name=name, mark=mark, left=values[0], right=values[1])


def _in_python(beside: str, text: str, mark: str, values: tuple[int, int], *,
               like: bool) -> tuple[str, str]:
    place = PurePosixPath(beside)
    stem = (f"{place.stem}_{mark}" if place.stem.startswith("test_")
            else f"{place.stem.removesuffix('_test')}_{mark}_test")
    made = _like(text, mark, values) if like else ""
    return str(place.with_name(f"{stem}.py")), made or _plain(text, mark, values)


def _like(text: str, mark: str, values: tuple[int, int]) -> str:
    """The module with its first test alone, which compares two numbers of ours when it is done;
    empty when there is none that could.
    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    owners: list[ast.Module | ast.ClassDef] = [module, *_groups(module)]
    found = next(((owner, test) for owner in owners for test in owner.body if isinstance(
        test, ast.FunctionDef | ast.AsyncFunctionDef) and _is_test(test)), None)
    if found is None:
        return ""
    owner, test = found
    begin, end = _LEAVES.format(mark=mark), f"assert {values[0]} == {values[1]}"
    docstring = 1 if ast.get_docstring(test) else 0
    test.body = [*test.body[:docstring], *ast.parse(begin).body, *test.body[docstring:],
                 *ast.parse(end).body]
    for group in owners:
        group.body = [node for node in group.body if node is test or not _is_test(node)]
    module.body = [node for node in module.body if not isinstance(node, ast.ClassDef)
                   or node is owner or not _tests_in(node)]
    return ast.unparse(module)


def _groups(module: ast.Module) -> list[ast.ClassDef]:
    return [node for node in module.body if isinstance(node, ast.ClassDef) and _tests_in(node)]


def _tests_in(group: ast.ClassDef) -> bool:
    called = group.name.startswith("Test") or any("TestCase" in ast.unparse(base)
                                                  for base in group.bases)
    return called or any(map(_is_test, group.body))


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _plain(text: str, mark: str, values: tuple[int, int]) -> str:
    form = _METHOD if "unittest" in text else _FUNCTION
    return form.format(
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
