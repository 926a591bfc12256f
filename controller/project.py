"""The `.agent-contract` folder: read and checked, every fault with its place.

A run keeps the documents it was started with, so a file edited at midnight changes nothing for it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import contracts
from controller.core.canonical import JsonObject, canonical, digest, entries, members
from controller.core.contract_check import doubts, pattern_fault
from controller.core.errors import SetupError
from controller.core.governed import governed
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
    _check_together(contract, policy, config)
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
        raise SetupError(f"{place}:1:1: is not what the state schema and config.yaml make (a forge "
                         "brings actions); it is generated: run `oneshot init` to write it anew")


def _either(folder: Path, name: str) -> Path:
    json_file = folder / f"{name}.json"
    return json_file if json_file.exists() else folder / f"{name}.yaml"


def _checked_policy(document: Document) -> JsonObject:
    """A policy whose patterns are regular expressions."""
    for kind in ("forbid", "confirm"):
        patterns = entries(document.value.get("commands")).get(kind)
        for index, pattern in enumerate(members(patterns)):
            fault, path = pattern_fault(str(pattern)), pointer("commands", kind, index)
            if fault:
                raise SetupError(f"{document.where(path)}: {path}: {fault}")
    return document.value


def _sources(document: Document) -> Callable[[str], str]:
    """What says of each part of a contract where it stands: the file, the line, the digest."""
    mark = digest(document.value)[:12]

    def source(path: str) -> str:
        line = document.where(path).rsplit(":", 2)[1]
        return f"{FOLDER}/{document.path.name}:{line}@{mark}"

    return source


def _check_together(contract: Document, policy: JsonObject, config: JsonObject) -> None:
    """Raise SetupError for the first thing that one file names and another has not."""
    forge = entries(config.get("forge"))
    lacking = {"command": "command", "github": "repo", "gitlab": "repo"}.get(str(forge.get("kind")))
    if lacking and not forge.get(lacking):
        raise SetupError(f"{FOLDER}/config.yaml: /forge/{lacking}: missing; a forge of kind "
                         f"{forge['kind']} needs it")
    probes = entries(policy.get("probes"))
    for id, item in entries(contract.value.get("success_criteria")).items():
        check = entries(entries(item).get("check"))
        for key, fault in (
                ("ci", "" if forge else "config.yaml names no forge whose check it could be"),
                ("probe", "" if check.get("probe") in probes else
                 f"policy.yaml has no such probe; there are: {', '.join(probes) or 'none'}")):
            path = pointer("success_criteria", id, "check", key)
            if key in check and fault:
                raise SetupError(f"{contract.where(path)}: {path}: {fault}")


def check_contract(document: Document) -> None:
    """Raise SetupError for the first thing that a contract says and no schema can judge."""
    for fault in doubts(document.value):
        raise SetupError(f"{document.where(fault.path)}: {fault}")


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
