"""From the contract's document, governed or as people write it, to the contract as a value."""

from datetime import datetime
from typing import Any

from controller.core.action import Command
from controller.core.canonical import JsonObject, JsonValue, entries, members, texts
from controller.core.contract import (
    Check,
    CommandCheck,
    Constraint,
    Contract,
    Criterion,
    Expected,
    FileCheck,
    GitCheck,
    Governance,
    HeldOut,
    HostedCheck,
    Item,
    PersonCheck,
    ProbeCheck,
)
from controller.core.governed import CRITERIA, NAMES
from controller.core.hosted import OWN
from controller.core.parse import command

_GLOBS = ("allow_paths", "forbid_paths", "protect_paths", "forbid_commands", "forbid_imports")
_PLAIN = ("max_files", "max_lines", "no_new_dependencies", "max_usd")


def contract_of(document: JsonObject) -> Contract:
    """The contract that a checked document describes."""
    version = document.get("version")
    texts: dict[str, Any] = {  # Any: keyword arguments of Contract
        field: tuple(_text(value, f"{name}-{index}")
                     for index, value in enumerate(members(document.get(field)), 1))
        for field, name in NAMES.items() if field != "constraints"}
    return Contract(
        goal=_words(document["goal"]).strip(),
        success_criteria=tuple(_criterion(id, entries(item))
                               for id, item in entries(document[CRITERIA]).items()),
        constraints=tuple(constraint(value, f"constraint-{index}") for index, value in enumerate(
            members(document.get("constraints")), 1)),
        version=version if isinstance(version, int) else 1, **texts)


def constraint(value: JsonValue, id: str) -> Constraint:
    """The constraint that a text or an object describes."""
    item: JsonObject = {"text": value} if isinstance(value, str) else entries(value)
    typed: dict[str, Any] = {  # Any: keyword arguments of Constraint, checked by the schema
        **{key: texts(item[key]) for key in _GLOBS if key in item},
        **{key: item[key] for key in _PLAIN if key in item}}
    if "public_api" in item:
        typed["public_api"] = texts(entries(item["public_api"]).get("paths"))
    if "must_pass" in item:
        typed["must_pass"] = _command(item["must_pass"])
    if "deadline" in item:
        typed["deadline"] = datetime.fromisoformat(str(item["deadline"]))
    return Constraint(str(item.get("id", id)), str(item.get("text") or ""), _governance(item),
                      **typed)


def check_of(document: JsonObject) -> Check:
    """The check that an object describes."""
    match document:
        case {"file": str(path)}:
            contains = document.get("contains")
            return FileCheck(path, str(contains) if contains else None)
        case {"person": str(question)}:
            return PersonCheck(question)
        case {"ci": str(name)}:
            return HostedCheck(name, "" if document.get("status") is True else str(
                document.get("app") or OWN), texts(document.get("accept")) or ("success",))
        case {"probe": str(name)}:
            return ProbeCheck(name, str(document["expect"]))
        case {"git": dict(said)}:
            return GitCheck(str(said.get("based_on") or ""), said.get("no_merges") is True,
                            texts(said.get("touches")))
        case _:
            return _command_check(document)


def _command_check(document: JsonObject) -> CommandCheck:
    typed: dict[str, Any] = {  # Any: keyword arguments, checked by the schema
        key: document[key] for key in ("expect_exit", "output", "coverage", "canary")
        if key in document}
    runs = entries(document.get("runs"))
    typed |= {name: runs[key] for key, name in (("of", "runs"), ("pass", "passes")) if key in runs}
    held = entries(document.get("held_out"))
    if held:
        typed["held_out"] = HeldOut(str(held["from"]), str(held["to"]))
    return CommandCheck(command(document), tests=_tests(entries(document.get("tests"))), **typed)


def _tests(document: JsonObject) -> Expected:
    typed: dict[str, Any] = {  # Any: keyword arguments, checked by the schema
        key: texts(value) if isinstance(value, list) else value
        for key, value in document.items()}
    return Expected(**typed)


def _criterion(id: str, item: JsonObject) -> Criterion:
    return Criterion(id, str(item.get("text") or ""), check_of(entries(item["check"])),
                     _governance(item))


def _text(value: JsonValue, id: str) -> Item:
    item = entries(value)
    return Item(str(item.get("id", id)), _words(value), _governance(item))


def _words(value: JsonValue) -> str:
    return str(entries(value).get("text") or "") if isinstance(value, dict) else str(value)


def _command(value: JsonValue) -> Command:
    return command({"shell": value} if isinstance(value, str) else entries(value))


def _governance(item: JsonObject) -> Governance:
    at, freshness, since = item.get("at"), item.get("freshness"), item.get("since")
    return Governance(
        str(item.get("source") or ""), str(item.get("owner") or "user"),
        str(item.get("retention") or "always"), freshness if isinstance(freshness, int) else None,
        str(item.get("change_policy") or "ask"), str(item.get("supersedes") or ""),
        since if isinstance(since, int) else 1,
        datetime.fromisoformat(at) if isinstance(at, str) else None)
