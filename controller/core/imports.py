"""Which modules source code imports: Python, JavaScript, TypeScript, Go, Rust."""

import ast
import re
from collections.abc import Iterator

_PYTHON = (re.compile(r"^\s*from\s+([\w.]+)\s+import\b"),
           re.compile(r"\b__import__\(\s*['\"]([\w.]+)"),
           re.compile(r"\bimport_module\(\s*['\"]([\w.]+)"))
_PLAIN = re.compile(r"(?:^|;)\s*import\s+([\w., ]+)")
_SCRIPT = (re.compile(r"\b(?:from|import)\s*['\"]([^'\"]+)['\"]"),
           re.compile(r"\b(?:require|import)\(\s*['\"]([^'\"]+)['\"]"))
_GO = (re.compile(r"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"([^\"\s]+)\"\s*$"),)
_RUST = (re.compile(r"\b(?:use|extern\s+crate)\s+:{0,2}(\w+)"),)

_LANGUAGES = {
    ".py": _PYTHON, ".pyi": _PYTHON, ".js": _SCRIPT, ".mjs": _SCRIPT, ".cjs": _SCRIPT,
    ".jsx": _SCRIPT, ".ts": _SCRIPT, ".tsx": _SCRIPT, ".mts": _SCRIPT, ".cts": _SCRIPT,
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
    ending = _ending(path)
    if ending in (".py", ".pyi"):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        else:
            yield from _parsed(tree)
            return
    for number, line in enumerate(text.splitlines(), 1):
        for module in _in_line(ending, line):
            yield module, number


def _parsed(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield module, node.lineno
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in names)
            case ast.Call(func=ast.Name(id="__import__" | "import_module")
                          | ast.Attribute(attr="import_module" | "__import__"),
                          args=[ast.Constant(value=str(module)), *_]):
                yield module, node.lineno
            case _:
                pass


def _in_line(ending: str, line: str) -> Iterator[str]:
    for pattern in _LANGUAGES.get(ending, ()):
        yield from pattern.findall(line)
    if ending in (".py", ".pyi"):
        for names in _PLAIN.findall(line):
            yield from (name.split()[0] for name in names.split(",") if name.strip())


def falls_under(module: str, forbidden: str) -> bool:
    """Whether a module is, or belongs to, one that is forbidden.

    >>> falls_under("requests.adapters", "requests"), falls_under("requests_mock", "requests")
    (True, False)
    """
    return module == forbidden or module.startswith((f"{forbidden}.", f"{forbidden}/"))


def _ending(path: str) -> str:
    return "." + path.rpartition(".")[2]
