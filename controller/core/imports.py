"""Which modules a line of source code imports: Python, JavaScript, TypeScript, Go, Rust."""

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


def imports(path: str, line: str) -> Iterator[str]:
    """The modules that one line of a file imports.

    >>> list(imports("a.py", "import os.path, requests as r"))
    ['os.path', 'requests']
    >>> list(imports("a.ts", "import { x } from 'lodash/fp'"))
    ['lodash/fp']
    """
    ending = _ending(path)
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
