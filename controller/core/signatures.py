"""The public names of a Python file and how they are called, without running it."""

import ast
from collections.abc import Iterator


def signatures(text: str, *, package: bool = False) -> dict[str, tuple[str, int]]:
    """Name -> (signature, line) of everything public: functions, classes, methods, constants. Of a
    `package` (its __init__.py) also what it imports from within itself.

    Raises SyntaxError (or ValueError) when the file is no Python.

    >>> {name: said for name, (said, _) in signatures("def f(a, b=1): ...\\n_x = 2").items()}
    {'f': 'def f(a, b=1)'}
    """
    tree = ast.parse(text)
    found = dict(_members(tree.body, ""))
    for node in tree.body if package else ():
        if isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                if _public(name):
                    found[name] = (f"{name}, from within", node.lineno)
    return found


def _members(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[str, int]]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _public(node.name):
                yield prefix + node.name, (_function(node), node.lineno)
            case ast.ClassDef(name=name) if _public(name):
                bases = ", ".join(map(ast.unparse, [*node.bases, *node.keywords]))
                yield prefix + name, (f"class {name}({bases})", node.lineno)
                yield from _members(node.body, f"{prefix}{name}.")
            case ast.If(body=below, orelse=others) | ast.Try(body=below, orelse=others):
                yield from _members([*below, *others], prefix)
            case _:
                yield from _names(node, prefix)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    ways = "".join(f"@{ast.unparse(way)} " for way in node.decorator_list)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{ways}{kind} {node.name}({ast.unparse(node.args)}){returned}"


def _names(
        node: ast.stmt, prefix: str) -> Iterator[tuple[str, tuple[str, int]]]:
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
              annotation: str) -> Iterator[tuple[str, tuple[str, int]]]:
    if isinstance(target, ast.Name) and _public(target.id):
        yield prefix + target.id, (f"{target.id}{annotation}", target.lineno)
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _assigned(part, prefix, "")


def _public(name: str) -> bool:
    special = name.startswith("__") and name.endswith("__")
    return special or not name.startswith("_")
