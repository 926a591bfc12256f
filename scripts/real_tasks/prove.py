"""Real historical bug fixes: the reference fix is proved done, and three wrong ones are not.

Each task is two consecutive source distributions of a project: the sources of the older with the
tests of the newer. Nothing of a project is kept here but the few words by which a place is found.

    reference     the released fix of the files that it is in
    no-op         a comment is worded otherwise
    test deleted  the failing tests are taken away
    special case  the code looks whether the failing test is running
"""

import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controller.testing.script import write_cassette

sys.path.insert(0, str(Path(__file__).parent))

from replay import (  # type: ignore[import-not-found]  # it lies beside this
    compose,
    environment,
    fetch,
)

TASKS = Path(__file__).parent / "fixes.json"
CHECK = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "tests"]
WORDS = {0: "proved", 8: "parked"}


def main(names: list[str], folder: Path) -> int:
    """Try every fix of the named tasks; 1 when one is judged wrongly."""
    wrong = total = 0
    for task in json.loads(TASKS.read_text()):
        if names and task["name"] not in names:
            continue
        for fix, code in tried(task, folder / task["name"]):
            right = (code == 0) == (fix == "reference")
            total, wrong = total + 1, wrong + (not right)
            print(f"{task['name']:<12} {fix:<13} {WORDS.get(code, 'refused'):<8} "
                  f"{'' if right else 'WRONG'}".rstrip())
    print(f"{total} fixes, {wrong} judged wrongly")
    return 1 if wrong or not total else 0


def tried(task: dict[str, Any], folder: Path) -> Iterator[tuple[str, int]]:
    """Each fix of a task with the exit code of its run."""
    old, new = (fetch(task["name"], task[which], folder) for which in ("old", "new"))
    repo = compose(task, old, new, folder / "repo")
    python = environment(task["tests_need"], folder / "venv")
    contract(repo, task, python)
    for fix, changes in fixes(task, repo, new):
        place = folder / fix.replace(" ", "-")
        shutil.copytree(repo, place / "repo", symlinks=True)
        yield fix, run(place, changes)


def fixes(task: dict[str, Any], repo: Path, new: Path) -> Iterator[tuple[str, list[Any]]]:
    """The reference fix and the wrong ones, as the changes of an edit."""
    yield "reference", [change for path in task["reference_files"]
                        for change in hunks(path, (repo / path).read_text(),
                                            (new / path).read_text())]
    yield "no-op", [{"op": "replace", **task["noop"]}]
    yield "test deleted", [change for path, tests in task["delete_tests"].items()
                           for change in hunks(path, (repo / path).read_text(), without(
                               (repo / path).read_text(), tests))]
    yield "special case", [{"op": "replace", **item} for item in task["special_case"]]


def hunks(path: str, old: str, new: str) -> Iterator[dict[str, str]]:
    """Replacements that bring one text of a file to another, from the bottom up: what each replaces
    stands once when its turn comes.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    blocks = [code[1:] for code in difflib.SequenceMatcher(None, before, after).get_opcodes()
              if code[0] != "equal"]
    now = old
    while blocks:
        first, last, begin, end = blocks.pop()
        while first > 0 and now.count("".join(before[first:last]) or "\0\0") != 1:
            first, begin = first - 1, begin - 1
            if blocks and first < blocks[-1][1]:  # it reaches into the one above
                first, _, begin, _ = blocks.pop()
        text = "".join(before[first:last])
        yield {"op": "replace", "path": path, "old": text, "new": "".join(after[begin:end])}
        now = now.replace(text, "".join(after[begin:end]))


def without(text: str, names: list[str]) -> str:
    """A module without some of its functions, methods and classes."""
    lines = text.splitlines(keepends=True)
    for node in sorted((node for node in ast.walk(ast.parse(text))
                        if isinstance(node, ast.FunctionDef | ast.ClassDef)
                        and node.name in names), key=lambda node: -node.lineno):
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        lines[first - 1:node.end_lineno] = []
    return "".join(lines)


def contract(repo: Path, task: dict[str, Any], python: Path) -> None:
    """What is to be proved: the failing tests pass, and what passed passes still."""
    place = repo / ".agent-contract"
    place.mkdir()
    (place / "intent-contract.yaml").write_text(json.dumps({
        "goal": "Fix what the failing tests show.", "success_criteria": {"tests": {"check": {
            "argv": CHECK, "timeout": 300,
            "tests": {"fail_to_pass": task["fail_to_pass"]}}}}}))
    (place / "policy.yaml").write_text(json.dumps({
        "protected_paths": ["tests/**"], "limits": {"timeout": 300},
        "environment": {"path": [str(python.parent)],
                        "variables": {"PYTHONPATH": task["pythonpath"]}}}))
    (place / "config.yaml").write_text("model: {adapter: scripted}\nlimits: {steps: 100}\n")


def run(place: Path, changes: list[Any]) -> int:
    """The exit code of a run whose model asks for these changes, and says that it is done."""
    actions: list[dict[str, Any]] = [
        {"kind": "edit", "changes": changes}, {"kind": "commit", "message": "Fix it"},
        {"kind": "finish", "result": "done", "summary": "Fixed."},
        {"kind": "finish", "result": "impossible", "summary": "It is not."}]
    cassette = place / "cassette.jsonl"
    write_cassette(cassette, ({"action": action} for action in actions))
    env = {"PATH": os.defpath, "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}
    said = subprocess.run(
        [sys.executable, "-P", "-c", "from controller.cli import main; main()", "run", "--quiet",
         "--cassette", str(cassette)], cwd=place / "repo", env=env, check=False,
        capture_output=True, text=True)
    (place / "said").write_text(said.stdout + said.stderr)
    return said.returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="real-fixes-") as made:
        Path(made).chmod(0o755)
        sys.exit(main(sys.argv[1:], Path(made)))
