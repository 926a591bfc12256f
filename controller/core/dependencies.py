"""What a project depends on, as its manifests and lockfiles say: pip, npm, cargo and go.

A name is found, never an installed package: nothing is asked of a registry, and nothing is run.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from controller.core.glob import matches

_PIP = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
_PACKAGE = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies",
            "bundledDependencies", "bundleDependencies")


_ODD = (ValueError, TypeError, AttributeError, LookupError, SyntaxError, RecursionError,
        MemoryError)
"""What reading a file raises that somebody has made up."""


class Unreadable(ValueError):
    """A manifest that can't be read tells nothing about what it depends on."""


def is_manifest(path: str) -> bool:
    """Whether a file says what a project depends on."""
    return _reader(path) is not None


def dependencies(path: str, text: str) -> frozenset[str]:
    """The packages that a manifest or lockfile names. Raises Unreadable when it can't be read.

    >>> sorted(dependencies("requirements.txt", "Django>=5\\n# not this\\nrequests_oauthlib"))
    ['django', 'requests-oauthlib']
    """
    reader = _reader(path)
    if "\0" in text:
        raise Unreadable(f"{path} can't be read: it is no UTF-8")
    try:
        return frozenset(reader(text)) if reader else frozenset()
    except _ODD as fault:
        raise Unreadable(f"{path} can't be read: {fault}") from None


def line_of(name: str, text: str) -> int:
    """The line of a manifest that names a package, from 1; of several the first."""
    loose = re.sub(r"[-_.]+", "[-_.]+", re.escape(name).replace(r"\-", "-"))
    hit = re.search(rf"(?i)(?<![\w-]){loose}(?![\w-])", text)
    return text.count("\n", 0, hit.start()) + 1 if hit else 1


def _reader(path: str) -> Callable[[str], Iterable[str]] | None:
    for globs, reader in _READERS:
        if matches(path, globs):
            return reader
    return None


def _named(line: str) -> Iterator[str]:
    """The name in a PEP 508 requirement, as PEP 503 has it, and where else than from a registry it
    comes from.
    """
    place = re.search(r"\S+://\S+", line)
    if place:
        yield place[0]
    hit = None if place and place.start() == len(line) - len(line.lstrip()) else _PIP.match(line)
    if hit:
        yield re.sub(r"[-_.]+", "-", hit[1]).lower()


def _requirements(text: str) -> Iterator[str]:
    """Names, and every option word for word: another file, another index, a folder."""
    for written in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.split(r"(?:^|\s)#", written, maxsplit=1)[0].strip()
        if line.startswith(("-", ".", "/")):
            yield " ".join(line.split())
        else:
            yield from _named(line)


def _toml(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


def _pyproject(text: str) -> Iterator[str]:
    whole = _toml(text)
    project, tool = whole.get("project", {}), whole.get("tool", {})
    poetry = tool.get("poetry", {})
    lists = [project.get("dependencies", []), whole.get("build-system", {}).get("requires", []),
             *project.get("optional-dependencies", {}).values(),
             *whole.get("dependency-groups", {}).values(),
             *tool.get("pdm", {}).get("dev-dependencies", {}).values(),
             tool.get("uv", {}).get("dev-dependencies", [])]
    for line in (line for lines in lists for line in lines if isinstance(line, str)):
        yield from _named(line)
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {}),
              *(group.get("dependencies", {}) for group in poetry.get("group", {}).values())]
    for name in (name for table in tables for name in table if name != "python"):
        yield from _named(name)


def _setup_cfg(text: str) -> Iterator[str]:
    import configparser

    read = configparser.ConfigParser(interpolation=None)
    try:
        read.read_string(text)
    except configparser.Error as fault:
        raise Unreadable(str(fault)) from None
    wanted = [read.get("options", key, fallback="")
              for key in ("install_requires", "setup_requires", "tests_require")]
    if read.has_section("options.extras_require"):
        wanted += [value for _, value in read.items("options.extras_require")]
    for line in "\n".join(wanted).splitlines():
        yield from _named(line)


def _setup_py(text: str) -> Iterator[str]:
    """Every literal of the arguments that name requirements; what is computed can't be read."""
    import ast

    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        for keyword in call.keywords:
            if keyword.arg in ("install_requires", "extras_require", "setup_requires",
                               "tests_require"):
                below = keyword.value
                lists = below.values if isinstance(below, ast.Dict) else [below]
                for node in (node for part in lists for node in ast.walk(part)):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield from _named(node.value)


def _pipfile(text: str) -> Iterator[str]:
    tables = [table for name, table in _toml(text).items()
              if isinstance(table, dict) and name not in ("requires", "scripts", "pipenv")]
    for name, entry in ((name, entry) for table in tables for name, entry in table.items()):
        yield from _named(name)
        if isinstance(entry, dict):
            yield from (f"{name}@{entry[key]}" for key in ("git", "path", "file", "ref")
                        if key in entry)


def _locked(text: str) -> Iterator[str]:
    """poetry.lock, uv.lock, pdm.lock, Cargo.lock: a table a package."""
    for package in _toml(text).get("package", []):
        yield str(package["name"]).lower()


def _package_json(text: str) -> Iterator[str]:
    whole = json.loads(text)
    for key in _PACKAGE:
        table = whole.get(key, ())
        yield from table
        if isinstance(table, dict):  # another package under the name, or one from elsewhere
            yield from (f"{name}@{where}" for name, where in table.items()
                        if re.search(r"[:/]", str(where)))


def _package_lock(text: str) -> Iterator[str]:
    whole = json.loads(text)
    for path in whole.get("packages", {}):
        if path:
            yield path.rpartition("node_modules/")[2]
    below = [whole.get("dependencies", {})]
    while below:
        for name, entry in below.pop().items():
            yield name
            below.append(entry.get("dependencies", {}))


def _yarn_lock(text: str) -> Iterator[str]:
    yield from re.findall(r'(?m)^"?(@?[^@\s"]+)@[^\n]*:$', text)


def _pnpm_lock(text: str) -> Iterator[str]:
    yield from re.findall(r"(?m)^[ \t]+['\"]?/?(@?[^\s@:'\"()]+(?:/[^\s@:'\"()]+)?)@[^\n]*:$", text)


def _cargo(text: str) -> Iterator[str]:
    whole = _toml(text)
    tables: list[Mapping[str, Any]] = [whole, whole.get("workspace", {}),
                                       *whole.get("target", {}).values()]
    for name, entry in ((name, entry) for table in tables for key in _TABLES
                        for name, entry in table.get(key, {}).items()):
        yield str(entry.get("package", name) if isinstance(entry, dict) else name).lower()
        if isinstance(entry, dict):
            yield from (f"{name}@{entry[key]}" for key in ("git", "path", "registry")
                        if key in entry)


def _go_mod(text: str) -> Iterator[str]:
    block = ""
    for words in (line.split("//", 1)[0].split() for line in text.splitlines()):
        if "=>" in words:  # a replacement is another dependency
            yield from words[words.index("=>") + 1:][:1]
        elif words[1:2] == ["("]:
            block = words[0]
        elif words[:1] == [")"]:
            block = ""
        elif block == "require" or words[:1] == ["require"]:
            yield from [word for word in words if word != "require"][:1]


def _go_sum(text: str) -> Iterator[str]:
    yield from re.findall(r"(?m)^(\S+)\s+v", text)


_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Iterable[str]]], ...] = (
    (("*requirements*.txt", "*constraints*.txt", "*requirements*.in", "requirements/**"),
     _requirements),
    (("pyproject.toml",), _pyproject), (("setup.cfg",), _setup_cfg), (("setup.py",), _setup_py),
    (("Pipfile",), _pipfile), (("poetry.lock", "uv.lock", "pdm.lock", "Cargo.lock"), _locked),
    (("package.json",), _package_json),
    (("package-lock.json", "npm-shrinkwrap.json"), _package_lock),
    (("yarn.lock",), _yarn_lock), (("pnpm-lock.yaml",), _pnpm_lock), (("Cargo.toml",), _cargo),
    (("go.mod",), _go_mod), (("go.sum",), _go_sum),
)
"""Files -> how their names are read."""
