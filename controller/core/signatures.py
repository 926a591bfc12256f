"""The public names of a Python file and how they are called, without running it."""

import ast
from collections.abc import Iterator
from typing import TypeAlias

Member: TypeAlias = tuple[str, tuple[str, int]]
"""A name, with its signature and its line."""


NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` raises of a text that somebody has made up."""


def signatures(text: str, *, package: bool = False) -> dict[str, tuple[str, int]]:
    """Name -> (signature, line) of everything public: functions, classes, methods, constants. Of a
    `package` (its __init__.py) also what it imports from within itself.

    Raises one of NO_PYTHON when the file is no Python.

    >>> {name: said for name, (said, _) in signatures("def f(a, b=1): ...\\n_x = 2").items()}
    {'f': 'def f(a, b=1)'}
    """
    tree = ast.parse(text)
    found = dict(_members(tree.body, ""))  # of two the last, which is what others get
    for name in _taken_away(tree):
        found.pop(name, None)
    for node in tree.body if package else ():
        if isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                if _public(name):
                    found[name] = (f"{name}, from within", node.lineno)
    return found


def _members(body: list[ast.stmt], prefix: str, when: str = "") -> Iterator[Member]:
    """`when` is the condition under which a name is there: another one is another signature."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _public(node.name):
                yield prefix + node.name, (when + _function(node), node.lineno)
            case ast.ClassDef(name=name) if _public(name):
                bases = ", ".join(map(ast.unparse, [*node.bases, *node.keywords]))
                ways = "".join(f"@{ast.unparse(way)} " for way in node.decorator_list)
                yield prefix + name, (f"{when}{ways}class {name}({bases})", node.lineno)
                yield from _members(node.body, f"{prefix}{name}.", when)
            case ast.If(test=test, body=below, orelse=others):
                yield from _members(below, prefix, f"{when}if {ast.unparse(test)}: ")
                yield from _members(others, prefix, f"{when}if not {ast.unparse(test)}: ")
            case ast.Try(body=below, orelse=others):
                yield from _members([*below, *others], prefix, f"{when}try: ")
            case _:
                yield from ((name, (when + said, line))
                            for name, (said, line) in _names(node, prefix))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    ways = "".join(f"@{ast.unparse(way)} " for way in node.decorator_list)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{ways}{kind} {node.name}({ast.unparse(node.args)}){returned}"


def _taken_away(tree: ast.Module) -> Iterator[str]:
    """What is deleted, or bound to something else, after it was defined."""
    defined: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                defined.add(node.name)
            case ast.Delete(targets=targets):
                yield from map(ast.unparse, targets)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from {alias.asname or alias.name for alias in names} & defined
            case ast.For(target=target):
                yield from {ast.unparse(target)} & defined
            case _:
                pass


def _names(
        node: ast.stmt, prefix: str) -> Iterator[Member]:
    """What a statement names for others to use."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as listed):
            yield from ((f"__all__ {item.value!r}", (f"{item.value!r} in __all__", item.lineno))
                        for item in listed.elts if isinstance(item, ast.Constant))
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _assigned(target, prefix, "")
        case ast.AnnAssign(target=target, annotation=annotation):
            yield from _assigned(target, prefix, f": {ast.unparse(annotation)}")
        case ast.ImportFrom(names=names) | ast.Import(names=names):
            for alias in names:  # `import x as x` says that it is meant for others
                if alias.asname and alias.asname == alias.name:
                    yield prefix + alias.name, (f"import {alias.name}", node.lineno)
        case _:
            pass


def _assigned(target: ast.expr, prefix: str,
              annotation: str) -> Iterator[Member]:
    if isinstance(target, ast.Name) and _public(target.id):
        yield prefix + target.id, (f"{target.id}{annotation}", target.lineno)
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _assigned(part, prefix, "")


def _public(name: str) -> bool:
    special = name.startswith("__") and name.endswith("__")
    return special or not name.startswith("_")
