"""What people and models must write, as data: schemas, domains, skills and examples."""

from typing import TypeAlias

DISTRIBUTION = "oneshot-controller"

Document: TypeAlias = "dict[str, object]"

SCHEMAS = ("transition", "intent-contract", "policy", "config", "head", "observation",
           "evidence", "step")
"""The schemas that ship, by name."""


def schema(name: str) -> Document:
    """The JSON Schema (draft-07) called `name`. Raises FileNotFoundError for an unknown one."""
    return _json(f"schemas/{name}.schema.json")


def domain(name: str, version: int | None = None) -> Document:
    """The state schema Σ of a domain: the newest, or an older version that shipped once.

    Raises FileNotFoundError for an unknown one.
    """
    number = "" if version is None else f".{version}"
    return _json(f"domains/{name}/state.schema{number}.json")


def skill(name: str) -> str:
    """The skill spec P that ships with a domain. Raises FileNotFoundError for an unknown one."""
    return text(f"skills/{name}/skill-spec.md")


def prices() -> Document:
    """The list prices of models, with the day they are of and where they are from."""
    return _json("prices.json")


def text(path: str) -> str:
    """A file of this package, by its path in it. Raises FileNotFoundError."""
    from importlib.resources import files

    return files("contracts").joinpath(path).read_text(encoding="utf-8")


def _json(path: str) -> Document:
    import json

    document: Document = json.loads(text(path))
    return document
