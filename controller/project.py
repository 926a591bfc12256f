"""The `.agent-contract` folder: read and checked, every fault with its place.

A run keeps the documents it was started with, so a file edited at midnight changes nothing for it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import contracts
from controller.core.canonical import JsonObject, canonical, digest, entries, members
from controller.core.errors import SetupError
from controller.core.glob import matches_in_any_case
from controller.core.governed import governed
from controller.core.path import path_fault
from controller.core.pointer import pointer
from controller.core.rules import (
    DUAL,
    OPTIMISTIC,
    STAGED,
    Rules,
    definitions,
    inlined,
    properties,
)
from controller.documents import Project, of_documents, schema
from controller.strict_yaml import Document, load, read

FOLDER = ".agent-contract"

_TOLD = {"text", "source", "owner", "retention", "freshness", "change_policy"}
"""What every constraint may say, beside what it limits."""

PLACEHOLDER = "Say here in one or two sentences"
"""How the goal begins that `oneshot init` writes when it is told none."""


def read_project(root: Path) -> Project:
    """The project whose contract folder lies in `root`. Raises SetupError naming every fault."""
    project = unchecked_project(root)
    _check_transition(root / FOLDER, project)
    if project.rules.contract.goal.startswith(PLACEHOLDER):
        contract = read(_either(root / FOLDER, "intent-contract"))
        raise SetupError(f"{contract.where('/goal')}: /goal: expected your own words; write them")
    return project


def unchecked_project(root: Path) -> Project:
    """As `read_project`, before anybody has written a goal and before anything is generated."""
    folder = root / FOLDER
    contract = load(_either(folder, "intent-contract"), schema("intent-contract"))
    check_contract(contract)
    policy = _checked_policy(load(folder / "policy.yaml", schema("policy")))
    config = load(folder / "config.yaml", schema("config")).value
    domain = str(config.get("domain", "coding"))
    documents: JsonObject = {
        "contract": governed(contract.value, _sources(contract)), "policy": policy,
        "config": config,
        "skill": _skill(folder, root, config, domain),
        "state_schema": _state_schema(folder, domain)}
    return of_documents(documents)


def transition_text(rules: Rules) -> str:
    """The content of `transition.schema.json` for a project."""
    import json

    return json.dumps(rules.transition_schema, indent=2, ensure_ascii=False) + "\n"


def _check_transition(folder: Path, project: Project) -> None:
    """A generated file that is stale would mislead whoever reads it."""
    place = folder / "transition.schema.json"
    import json

    try:
        same = not place.exists() or canonical(json.loads(place.read_text())) == canonical(
            project.rules.transition_schema)
    except (ValueError, OSError):
        same = False
    if not same:
        raise SetupError(f"{place}:1:1: is not what the state schema makes; it is generated: "
                         "run `oneshot init` to write it anew")


def _either(folder: Path, name: str) -> Path:
    json_file = folder / f"{name}.json"
    return json_file if json_file.exists() else folder / f"{name}.yaml"


def _checked_policy(document: Document) -> JsonObject:
    """A policy whose patterns are regular expressions."""
    for kind in ("forbid", "confirm"):
        patterns = entries(document.value.get("commands")).get(kind)
        for index, pattern in enumerate(members(patterns)):
            _check_pattern(document, pointer("commands", kind, index), str(pattern))
    return document.value


def _sources(document: Document) -> Callable[[str], str]:
    """What says of each part of a contract where it stands: the file, the line, the digest."""
    mark = digest(document.value)[:12]

    def source(path: str) -> str:
        line = document.where(path).rsplit(":", 2)[1]
        return f"{FOLDER}/{document.path.name}:{line}@{mark}"

    return source


def check_contract(document: Document) -> None:
    """Raise SetupError for what a contract says that no schema can judge: a typed constraint that
    stands twice (two would not mean one thing), a file that can't be, a limit that is none.
    """
    _check_once(document)
    _check_limits(document)
    _check_retention(document)
    for id, criterion in entries(document.value.get("success_criteria")).items():
        _check_tells(document, id, str(entries(entries(criterion).get("check")).get("shell", "")))
        file = entries(entries(criterion).get("check")).get("file")
        fault = (path_fault(file) or _out_of_reach(document, file)
                 ) if isinstance(file, str) else None
        if fault:
            path = pointer("success_criteria", id, "check", "file")
            raise SetupError(f"{document.where(path)}: {path}: {file!r} {fault}")


def _check_once(document: Document) -> None:
    seen: set[str] = set()
    for index, item in enumerate(members(document.value.get("constraints"))):
        for key in entries(item).keys() - _TOLD:
            path = pointer("constraints", index, key)
            if key in seen:
                raise SetupError(f"{document.where(path)}: {path}: stands twice; keep one")
            seen.add(key)


def _check_retention(document: Document) -> None:
    for field in ("must_remember", "priority_order"):
        for index, item in enumerate(members(document.value.get(field))):
            if entries(item).get("retention") == "listed":
                path = pointer(field, index, "retention")
                raise SetupError(f"{document.where(path)}: {path}: what stands here stands in every"
                                 " prompt; leave it out")


def _out_of_reach(document: Document, file: str) -> str | None:
    """Why the contract itself keeps a run from bringing a file about."""
    for index, item in enumerate(members(document.value.get("constraints"))):
        globs = tuple(map(str, members(entries(item).get("forbid_paths"))))
        if matches_in_any_case(file, globs):
            return (f"is out of reach: constraint-{index + 1} forbids to change it, so nothing that"
                    " the run does can prove this")
    return None


def _check_limits(document: Document) -> None:
    """Raise SetupError for typed constraints that no schema can judge."""
    from datetime import datetime

    for index, item in enumerate(members(document.value.get("constraints"))):
        for number, text in enumerate(members(entries(item).get("forbid_commands"))):
            _check_pattern(document, pointer("constraints", index, "forbid_commands", number),
                           str(text))
        deadline, path = entries(item).get("deadline"), pointer("constraints", index, "deadline")
        try:
            datetime.fromisoformat(str(deadline or "2026-01-05T08:00:00+00:00"))
        except ValueError as fault:
            raise SetupError(f"{document.where(path)}: {path}: expected a moment such as "
                             f"2026-12-02T07:30:00Z: {fault}") from None


def _check_pattern(document: Document, path: str, pattern: str) -> None:
    import re

    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        raise SetupError(f"{document.where(path)}: {path}: expected a regular expression: {fault}"
                         ) from None


def _check_tells(document: Document, id: str, line: str) -> None:
    """Raise SetupError for a check that passes whatever it finds."""
    import re

    hit = re.search(r"(?:\|\||;)\s*(?:true|:|exit 0)\s*$|\|\|\s*(?:true|:)\s|--if-present\b", line)
    if hit:
        path = pointer("success_criteria", id, "check", "shell")
        raise SetupError(f"{document.where(path)}: {path}: {hit[0].strip()!r} lets the check pass "
                         "whatever it finds; take it out")


def _skill(folder: Path, root: Path, config: JsonObject, domain: str) -> str:
    named = config.get("skill")
    place = root / str(named) if named else folder / "skill-spec.md"
    if not named and not place.exists():
        return contracts.skill(domain)
    try:
        if place.exists() and not place.is_file():
            raise SetupError(f"{place}: the skill spec is no file")
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise SetupError(f"{place}: the skill spec can't be read: {fault}") from None
    return _without_front_matter(text)


def _without_front_matter(text: str) -> str:
    """A SKILL.md without its YAML front matter (agentskills format)."""
    if not text.startswith("---\n"):
        return text
    return text[4:].partition("\n---\n")[2] or text


def _state_schema(folder: Path, domain: str) -> JsonObject:
    place = folder / "state.schema.json"
    if not place.exists():
        return cast("JsonObject", contracts.domain(domain))  # JSON, as it was parsed
    from controller.core.strict_json import NotJson, read_object

    try:
        found = read_object(place.read_text(encoding="utf-8"))
        check_state_schema(found)
    except (NotJson, OSError, UnicodeDecodeError, ValueError) as fault:
        raise SetupError(f"{place}:1:1: {fault}") from None
    return found


def check_state_schema(document: JsonObject) -> None:
    """Raise ValueError for what is no schema of a state."""
    from jsonschema import Draft7Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft7Validator.check_schema(document)
        inlined(document, definitions(document))
    except SchemaError as fault:
        raise ValueError(f"not a JSON Schema: {fault.message} at "
                         f"{pointer(*fault.absolute_path) or '/'}") from None
    except KeyError as fault:
        raise ValueError(f"a $ref leads to {fault}, which is not in its definitions") from None
    except RecursionError:
        raise ValueError("a $ref leads back to itself") from None
    if not properties(document):
        raise ValueError("expected an object schema with properties")
    for effect_class, chosen in entries(document.get("x-commit")).items():
        if (effect_class not in ("pure", "workspace", "external")
                or chosen not in (STAGED, OPTIMISTIC, DUAL)):
            raise ValueError(f"x-commit: expected staged, optimistic or dual for pure, workspace or"
                             f" external, got {effect_class}: {chosen}")
