"""Typed constraints: what a tree changes, judged line by line."""

import pytest

from controller.core.action import Command
from controller.core.constraints import (
    Broken,
    Changed,
    broken,
    forbidden_command,
    typed,
    worse,
)
from controller.core.contract import Constraint
from controller.core.dependencies import Unreadable, dependencies, is_manifest, line_of
from controller.core.imports import falls_under, imported
from controller.core.signatures import signatures

PYPROJECT = """
[project]
dependencies = ["Django>=5", "requests_oauthlib ; python_version > '3'"]
[project.optional-dependencies]
dev = ["pytest"]
[dependency-groups]
lint = ["ruff", {include-group = "dev"}]
[build-system]
requires = ["hatchling"]
[tool.poetry.dependencies]
python = "^3.11"
httpx = "*"
[tool.poetry.group.docs.dependencies]
sphinx = "*"
"""


@pytest.mark.parametrize(("path", "text", "names"), [
    ("requirements.txt", "# c\nDjango==5.1 # x\n-e git+https://x/y\n\nzope.interface\n",
     {"django", "zope-interface", "-e git+https://x/y"}),
    ("requirements.txt", "--index-url https://evil\n-rother.txt\n./vendor/evil\nclick @ \\\n  file:///x\n",
     {"--index-url https://evil", "-rother.txt", "./vendor/evil", "click", "file:///x"}),
    ("Pipfile", "[ci]\na = '*'\nb = {git = 'https://x'}\n[requires]\npython_version = '3'\n",
     {"a", "b", "b@https://x"}),
    ("go.mod", "require (\n" * 3000 + ")\n", set()), ("requirements.txt", "\n" * 400_000, set()),
    ("dev-requirements.txt", "requests @ https://evil/r.zip\ngit+https://x/z\n",
     {"requests", "https://evil/r.zip", "git+https://x/z"}),
    ("package.json", '{"dependencies": {"lodash": "npm:evil@1"}}', {"lodash", "lodash@npm:evil@1"}),
    ("Cargo.toml", "[dependencies]\nserde = {git = 'https://evil'}\n",
     {"serde", "serde@https://evil"}),
    ("sub/requirements-dev.txt", "a\n", {"a"}),
    ("pyproject.toml", PYPROJECT, {"django", "requests-oauthlib", "pytest", "ruff", "hatchling",
                                   "httpx", "sphinx"}),
    ("setup.cfg", "[options]\ninstall_requires =\n  A_b>1\n[options.extras_require]\nx = c\n",
     {"a-b", "c"}),
    ("setup.py", "from setuptools import setup\nsetup(install_requires=['a>1'], "
     "extras_require={'x': ['b']})", {"a", "b"}),
    ("Pipfile", "[packages]\na = '*'\n[dev-packages]\nb = '*'\n", {"a", "b"}),
    ("uv.lock", "[[package]]\nname = 'a'\n[[package]]\nname = 'B'\n", {"a", "b"}),
    ("Cargo.lock", "[[package]]\nname = 'serde'\n", {"serde"}),
    ("package.json", '{"dependencies": {"a": "1"}, "devDependencies": {"@b/c": "1"}, '
     '"bundledDependencies": ["d"]}', {"a", "@b/c", "d"}),
    ("package-lock.json", '{"packages": {"": {}, "node_modules/a": {}, '
     '"node_modules/a/node_modules/@b/c": {}}}', {"a", "@b/c"}),
    ("package-lock.json", '{"dependencies": {"a": {"dependencies": {"b": {}}}}}', {"a", "b"}),
    ("yarn.lock", '"@a/b@^1":\n  version "1"\nc@~2, c@^2.1:\n  version "2"\n', {"@a/b", "c"}),
    ("pnpm-lock.yaml", "packages:\n\n  '@a/b@1.0.0':\n    x: 1\n  /c@2.0.0:\n    x: 1\n",
     {"@a/b", "c"}),
    ("Cargo.toml", "[dependencies]\nserde = '1'\n[dev-dependencies]\nx = {package = 'y', version "
     "= '1'}\n[target.'cfg(unix)'.dependencies]\nlibc = '1'\n[workspace.dependencies]\nw = '1'\n",
     {"serde", "y", "libc", "w"}),
    ("go.mod", "module m\nrequire a.b/c v1.0\nrequire (\n\td.e/f v2.0 // indirect\n)\n"
     "replace g => h.i/j v3.0\n", {"a.b/c", "d.e/f", "h.i/j"}),
    ("go.sum", "a.b/c v1.0 h1:x=\na.b/c v1.0/go.mod h1:y=\n", {"a.b/c"}),
], ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "")
def test_what_a_project_depends_on_is_read_from_what_says_so(
        path: str, text: str, names: set[str]) -> None:
    assert is_manifest(path)
    assert dependencies(path, text) == names


@pytest.mark.parametrize(("path", "text"), [
    ("pyproject.toml", "[project"), ("package.json", "{"), ("setup.py", "def"),
    ("package.json", "[]"), ("poetry.lock", "[[package]]\nversion='1'"),
    ("setup.py", "x = " + "-" * 50_000 + "1"), ("setup.cfg", "no section"), ("Cargo.toml", "a = ["),
])
def test_a_manifest_that_can_not_be_read_says_so(path: str, text: str) -> None:
    with pytest.raises(Unreadable, match=path):
        dependencies(path, text)


def test_a_dependency_is_found_in_its_line_however_it_is_written() -> None:
    assert line_of("zope-interface", "a\nzope.interface\n") == 2
    assert line_of("pip", "pipx\npip\n") == 2


@pytest.mark.parametrize(("path", "line", "found"), [
    ("a.py", "import os, requests as r", ["os", "requests"]),
    ("a.py", "from a.b import c", ["a.b", "a.b.c"]),
    ("a.py", "if True: import requests", ["requests"]),
    ("a.py", "x = 1; from requests import get", ["requests", "requests.get"]),
    ("a.py", "try: import requests\nexcept E: pass", ["requests"]),
    ("a.py", "import \\\n  requests", ["requests"]),
    ("a.py", "from . import x", []), ("A.PY", "import x", ["x"]),
    ("a.py", "import_module(name='evil')", ["evil"]), ("a.py", "__import__ ('evil')", ["evil"]),
    ("a.py", "# -*- coding: utf-7 -*-\n+AGk-mport x", ["(in the encoding utf-7)"]),
    ("a.py", "# -*- coding: utf-8 -*-\nimport x", ["x"]),
    ("a.py", "import os, \\\n requests", ["os", "requests"]),
    ("a.js", "import x from\n'lodash'", ["lodash"]), ("a.js", "require(`x`)", ["x"]),
    ("a.vue", "import x from 'y'", ["y"]),
    ("a.py", "    from broken import c", ["broken"]),
    ("a.py", "x = __import__('evil')", ["evil"]),
    ("a.py", "importlib.import_module(\"evil.x\")", ["evil.x"]),
    ("a.py", "# import nothing from here", []),
    ("a.ts", "import x from 'lodash'", ["lodash"]),
    ("a.js", "const x = require(\"left-pad\")", ["left-pad"]),
    ("a.mjs", "await import('x/y')", ["x/y"]),
    ("a.go", '\t"net/http"', ["net/http"]),
    ("a.go", 'import _ "embed"', ["embed"]),
    ("a.rs", "use serde::Serialize;", ["serde"]),
    ("a.md", "import x", []),
])
def test_imports_are_told_line_by_line(path: str, line: str, found: list[str]) -> None:
    assert [module for module, _ in imported(path, line)] == found


def test_a_module_falls_under_its_package_only() -> None:
    assert falls_under("lodash/fp", "lodash")
    assert not falls_under("lodashx", "lodash")
    assert falls_under("(in the encoding utf-7)", "lodash")


def test_public_signatures_are_what_others_call() -> None:
    text = ("import os as os\nfrom a import b\nX: int = 1\n_y = 2\n\n@cache\ndef f(a, /, b=1, *, "
            "c: int) -> str: ...\ndef _g(): ...\nclass C(B):\n    def m(self): ...\n    "
            "def _n(self): ...\n    def __init__(self, x): ...\nif 1:\n    async def h(): ...\n")
    assert {name: said for name, (said, _) in signatures(text).items()} == {
        "os": "import os", "X": "X: int",
        "f": "@cache def f(a, /, b=1, *, c: int) -> str", "C": "class C(B)",
        "C.m": "def m(self)", "C.__init__": "def __init__(self, x)", "h": "if 1: async def h()"}


@pytest.mark.parametrize("after", [
    "def f(a): ...\ndel f\n", "def f(a): ...\nfrom os import getcwd as f\n",
    "def f(a): ...\nfor f in [None]: pass\n", "if False:\n    def f(a): ...\n", "f = 1\n",
    "@nothing\ndef f(a): ...\n", "async def f(a): ...\n", "",
], ids=["deleted", "imported-over", "looped-over", "never", "value", "decorated", "async", "gone"])
def test_a_public_name_is_gone_in_many_ways(after: str) -> None:
    found = broken((Constraint("k", public_api=("**",)),), Changed(texts={
        "a.py": ("def f(a): ...\n", after)}))

    assert len(found) == 1


def test_what_a_package_offers_from_within_is_public_too() -> None:
    before = "from .x import y\n__all__ = ['y']\n"
    found = broken((Constraint("k", public_api=("**",)),), Changed(texts={
        "p/__init__.py": (before, ""),
        "p/other.py": (before, "from .x import z\n__all__ = ['y']")}))

    assert [item.message for item in found] == [
        "p/__init__.py:2: the public __all__ 'y' is gone; it was `'y' in __all__`",
        "p/__init__.py:1: the public y is gone; it was `y, from within`"]


API = ("def f(a):\n    return a\n\n\nclass C:\n    def m(self): ...\n",
       "\ndef f(a, b):\n    return a\n\n\ndef new(): ...\n")


@pytest.mark.parametrize(("constraint", "changed", "messages"), [
    (Constraint("k", forbid_paths=("docs/**",)), Changed(frozenset({"docs/a.md", "b"})),
     ["the contract forbids to change docs/a.md; leave it as it is"]),
    (Constraint("k", max_files=1), Changed(frozenset({"a", "b"})),
     ["2 files would differ from the base, the contract allows 1: a, b"]),
    (Constraint("k", max_lines=5), Changed(lines=6),
     ["6 lines would be added and removed, the contract allows 5"]),
    (Constraint("k", no_new_dependencies=True),
     Changed(texts={"requirements.txt": ("a\n", "a\nb>1\n")}, known=frozenset({"a"})),
     ["requirements.txt:2: b is a new dependency; do without, or file a change_request"]),
    (Constraint("k", no_new_dependencies=True),
     Changed(texts={"package.json": (None, "{")}, known=frozenset()),
     ["package.json:1: package.json can't be read: Expecting property name enclosed in double "
      "quotes: line 1 column 2 (char 1); so nobody can tell what it depends on"]),
    (Constraint("k", forbid_imports=("requests",)),
     Changed(texts={"a.py": ("import os\n", "import os\nimport requests.adapters\n")}),
     ["a.py:2: imports requests.adapters, which the contract forbids"]),
    (Constraint("k", forbid_imports=("requests",)),
     Changed(texts={"a.py": ("import requests\n", "\nimport requests\n")}), []),
    (Constraint("k", public_api=("src/**",)), Changed(texts={"src/a.py": API}),
     ["src/a.py:2: the public `def f(a)` has become `def f(a, b)`",
      "src/a.py:5: the public C is gone; it was `class C()`",
      "src/a.py:6: the public C.m is gone; it was `def m(self)`"]),
    (Constraint("k", public_api=("src/**",)), Changed(texts={"src/a.py": (API[0], None)}),
     ["src/a.py:1: the public f is gone; it was `def f(a)`",
      "src/a.py:5: the public C is gone; it was `class C()`",
      "src/a.py:6: the public C.m is gone; it was `def m(self)`"]),
    (Constraint("k", public_api=("src/**",)), Changed(texts={"src/a.py": ("x = 1", "def")}),
     ["src/a.py:1: is no Python: invalid syntax (<unknown>, line 1)"]),
], ids=["forbidden", "files", "lines", "dependency", "unreadable", "import", "import-was-there",
        "api", "api-file-gone", "api-no-python"])
def test_each_constraint_names_the_file_and_the_line(
        constraint: Constraint, changed: Changed, messages: list[str]) -> None:
    assert typed(constraint)
    assert [item.message for item in broken((constraint,), changed)] == messages
    assert {item.constraint for item in broken((constraint,), changed)} <= {"k"}


def test_an_action_is_blamed_for_what_it_made_worse_and_for_nothing_else() -> None:
    before = (Broken("k", "4 files", "files", 4), Broken("k", "a.py:2: imports x", "a.py x"))
    better = (Broken("k", "3 files", "files", 3), Broken("k", "a.py:9: imports x", "a.py x"))
    more = (Broken("k", "5 files", "files", 5), Broken("k", "b.py:1: imports x", "b.py x"))

    assert worse(better, before) == ()
    assert worse(more, before) == more


def test_a_forbidden_command_names_its_constraint() -> None:
    found = forbidden_command((Constraint("constraint-4", forbid_commands=(r"\bcurl\b",)),),
                              Command(("sh", "-c", "curl x")))
    assert [str(item) for item in found] == [
        "constraint-4: the contract forbids this command (it matches '\\\\bcurl\\\\b')"]
