"""Which modules source code imports: Python, JavaScript, TypeScript, Go, Rust."""

import ast
import re
from collections.abc import Iterator

from controller.core.signatures import NO_PYTHON

_PYTHON = (re.compile(r"(?m)^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b"),
           re.compile(r"\b(?:__import__|import_module)[ \t]*\(\s*['\"]([\w.]+)"),
           re.compile(r"(?m)(?:^|;)[ \t]*import[ \t]+([\w., \t]+)"))
"""For what is no Python, and yet ends like it."""

_SCRIPT = (re.compile(r"\b(?:from|import)\s*['\"`]([^'\"`\n]+)['\"`]"),
           re.compile(r"\b(?:require|import)\s*\(\s*['\"`]([^'\"`\n]+)['\"`]"))
_GO = (re.compile(r"(?m)^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?[\"`]([^\"`\s]+)[\"`][ \t]*$"),)
_RUST = (re.compile(r"\b(?:use|extern[ \t]+crate)[ \t]+:{0,2}(\w+)"),)

_CODING = re.compile(r"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_PLAIN_CODINGS = ("utf-8", "utf8", "ascii", "us-ascii", "latin-1", "iso-8859-1")

_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), _PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts", ".vue",
                     ".svelte"), _SCRIPT),
    ".go": _GO, ".rs": _RUST,
}


def is_code(path: str) -> bool:
    """Whether imports of a file can be told."""
    return _ending(path) in _LANGUAGES


def imported(path: str, text: str) -> Iterator[tuple[str, int]]:
    """(module, line) of everything that a file imports. Python is parsed, wherever in a line an
    import stands; what is no Python, and other languages, are read line by line.

    >>> list(imported("a.py", "if True: import os.path, requests as r"))
    [('os.path', 1), ('requests', 1)]
    >>> list(imported("a.ts", "import { x } from 'lodash/fp'"))
    [('lodash/fp', 1)]
    """
    if _LANGUAGES.get(_ending(path)) is _PYTHON:
        if (coding := _CODING.match(text)) and coding[1].lower() not in _PLAIN_CODINGS:
            yield f"(in the encoding {coding[1]})", 1
        try:
            tree = ast.parse(text)
        except NO_PYTHON:
            pass
        else:
            yield from _parsed(tree)
            return
    for pattern in _LANGUAGES.get(_ending(path), ()):
        for hit in pattern.finditer(text):
            line = text.count("\n", 0, hit.start()) + 1
            yield from ((name.split()[0], line) for name in hit[1].split(",") if name.strip())


def _parsed(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield module, node.lineno
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in names)
            case ast.Call(func=ast.Name(id="__import__" | "import_module")
                          | ast.Attribute(attr="import_module" | "__import__")):
                named = [*node.args[:1], *(word.value for word in node.keywords
                                           if word.arg == "name")]
                yield from ((part.value, node.lineno) for part in named
                            if isinstance(part, ast.Constant) and isinstance(part.value, str))
            case _:
                pass


def falls_under(module: str, forbidden: str) -> bool:
    """Whether a module is, or belongs to, one that is forbidden. Nobody can tell what a file
    imports that is written in an encoding of its own.

    >>> falls_under("requests.adapters", "requests"), falls_under("requests_mock", "requests")
    (True, False)
    """
    return module == forbidden or module.startswith((f"{forbidden}.", f"{forbidden}/", "(in the"))


def _ending(path: str) -> str:
    return "." + path.rpartition(".")[2].lower()
