"""The documents of a run as values: contract, policy, configuration, skill spec, state schema.

They have been checked against the schemas in `contracts/schemas/`, so what is here only converts.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, cast

import contracts
from controller.core.canonical import JsonObject, JsonValue, digest, entries, members, texts
from controller.core.config import (
    FIRST_MODEL,
    Approvals,
    Config,
    DriftConfig,
    ForgeConfig,
    Limits,
    ModelConfig,
    Price,
    Retry,
    Routing,
)
from controller.core.delivery import COMMENT, DELIVERY, PULL_REQUEST
from controller.core.errors import SetupError
from controller.core.governed import seconds
from controller.core.parse import command
from controller.core.pointer import nearest
from controller.core.policy import (
    Environment,
    External,
    Networked,
    Policy,
    Probe,
    Reach,
    Setup,
)
from controller.core.prompt import CONTRACT_LIMIT, SKILL_LIMIT, stable
from controller.core.routing import IMPLEMENT, PLAN, REPAIR
from controller.core.rules import Rules, transition_schema
from controller.core.terms import contract_of

_SHADOWS = (".py", "/__init__.py", "/__main__.py")
"""`python -m pytest` would run a pytest.py of the repository's."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a run is made under, and the documents that it came from."""

    rules: Rules
    config: Config
    documents: JsonObject


def of_documents(documents: JsonObject) -> Project:
    """The project that these documents describe; they have been checked. Raises SetupError."""
    config = _config(_object(documents["config"]))
    state_schema = _object(documents["state_schema"])
    rules = Rules(
        str(documents["skill"]), contract_of(_object(documents["contract"])), state_schema,
        transition_schema(schema("transition"), state_schema, _not_offered(config)),
        _policy(_object(documents["policy"]), _named_by_checks(documents)), config.limits,
        config.approvals, _object(documents["contract"]),
        digest([documents["contract"], documents["policy"]]), forge=config.forge,
        drift=config.drift, models=config.models, routing=config.routing, retry=config.retry,
        prices=config.prices)
    _check_sizes(rules)
    return Project(rules, config, documents)


def _not_offered(config: Config) -> tuple[str, ...]:
    """The kinds of actions that would have nowhere to go."""
    if config.forge is None:
        return DELIVERY
    return (PULL_REQUEST, COMMENT) if config.forge.kind == "command" else ()


def schema(name: str) -> JsonObject:
    """A schema that ships with oneshot."""
    return cast("JsonObject", contracts.schema(name))  # JSON, as it was parsed


def _check_sizes(rules: Rules) -> None:
    for name, size, limit in (
        ("skill spec", len(rules.skill.encode()), SKILL_LIMIT),
        ("intent contract with the schemas", len(stable(rules).encode()) - len(
            rules.skill.encode()), CONTRACT_LIMIT * 2),
    ):
        if size > limit:
            raise SetupError(f"the {name} has {size} bytes; at most {limit} fit into every prompt")


def _named_by_checks(documents: JsonObject) -> tuple[str, ...]:
    """Every word of a check that may name a file: what measures a run is protected from it."""
    found: list[str] = []
    contract = entries(documents["contract"])
    lines = [entries(criterion).get("check") for criterion in entries(
        contract.get("success_criteria")).values()]
    lines += [entries(item).get("must_pass") for item in members(contract.get("constraints"))]
    for line in lines:
        check = entries({"shell": line} if isinstance(line, str) else line)
        words = [*map(str, members(check.get("argv"))), *str(check.get("shell") or "").split()]
        paths = [word.strip("'\"();&|").removeprefix("./").split("::")[0] for word in words]
        paths += [f"{module.replace('.', '/')}{end}" for flag, module in pairwise(words)
                  if flag == "-m" and module.replace(".", "").isidentifier()
                  for end in (".py", "/__main__.py")]
        found += [path.rstrip("/") for path in paths if path.strip("/.")]
    return tuple(dict.fromkeys(found))


def _policy(document: JsonObject, named: tuple[str, ...]) -> Policy:
    commands, limits = entries(document.get("commands")), entries(document.get("limits"))
    network = entries(document.get("network"))
    return Policy(
        protected_paths=(*texts(document.get("protected_paths")), *(f"/{path}" for path in named)),
        shadows=frozenset(path + end for path in named for end in _SHADOWS),
        forbidden_commands=texts(commands.get("forbid")),
        external=tuple(map(_external, map(_object, members(document.get("external"))))),
        confirm_commands=texts(commands.get("confirm")),
        environment=_environment(entries(document.get("environment"))),
        network=Networked(texts(network.get("hosts")), texts(network.get("pre_granted"))),
        granted=frozenset(kind for kind, word in entries(document.get("forge")).items()
                          if word == "granted"),
        trusted=frozenset(texts(entries(document.get("forge")).get("trust"))),
        probes=tuple(_probe(name, entries(item))
                     for name, item in entries(document.get("probes")).items()),
        **_arguments(limits))


def _environment(document: JsonObject) -> Environment:
    setup = entries(document.get("setup"))
    lines = tuple(command({"shell": line}) for line in texts(setup.get("run")))
    seconds = setup.get("timeout")
    return Environment(
        texts(document.get("path")),
        tuple((name, str(value)) for name, value in entries(document.get("variables")).items()),
        texts(document.get("mounts")), texts(document.get("pass")),
        Setup(lines, texts(setup.get("from")), seconds if isinstance(seconds, int) else 1800,
              texts(setup.get("variables")))
        if lines else None)


def _external(item: JsonObject) -> External:
    probe = item.get("probe")
    return External(
        command({"shell": item["run"]}), command({"shell": probe}) if probe else None,
        _reach(item))


def _probe(name: str, item: JsonObject) -> Probe:
    line, get = item.get("run"), item.get("get")
    fresh = item.get("fresh")
    return Probe(name, command({"shell": line}) if line else None, str(get or ""),
                 seconds(fresh) if isinstance(fresh, str) else 300, _reach(item))


def _reach(item: JsonObject) -> Reach:
    return Reach(texts(item.get("hosts")), texts(item.get("writes")), texts(item.get("variables")))


def _config(document: JsonObject) -> Config:
    rest = {key: value for key, value in document.items()
            if key in ("domain", "skill", "test_command", "issue_file")}
    others = entries(document.get("models"))
    first: JsonObject = {FIRST_MODEL: document.get("model")}
    if FIRST_MODEL in others and "model" in document:
        raise SetupError(".agent-contract/config.yaml: /models/model: expected another name; this "
                         "is what `model` is called")
    named = others if others and "model" not in document else first | others
    models = {name: _model(item) for name, item in named.items()}
    return Config(
        models=models, routing=_routing(entries(document.get("routing")), tuple(models)),
        retry=_retry(entries(document.get("retry"))),
        prices={name: _price(entries(item))
                for name, item in entries(document.get("prices")).items()},
        limits=_limits(entries(document.get("limits"))),
        approvals=_approvals(entries(document.get("approvals"))),
        forge=ForgeConfig(**_arguments(document["forge"])) if "forge" in document else None,
        drift=DriftConfig(**_arguments(document.get("drift"))), **_arguments(rest))


def _model(document: JsonValue) -> ModelConfig:
    given = _arguments(document)
    for name in ("command", "variables"):
        if name in given:
            given[name] = tuple(given[name])
    return ModelConfig(**given)


def _limits(document: JsonObject) -> Limits:
    given = _arguments(document)
    if "until" in given:
        given["until"] = datetime.fromisoformat(given["until"])
    return Limits(**given)


def _routing(document: JsonObject, models: tuple[str, ...]) -> Routing:
    """Who is asked, in which order. Raises SetupError for a name that no model has."""
    lists = {key: texts(document[key]) for key in ("order", *_PHASES) if key in document}
    for key, names in lists.items():
        for name in names:
            if name not in models:
                raise SetupError(f".agent-contract/config.yaml: /routing/{key}: no model "
                                 f"{name!r}{nearest(name, models)}; there are: {', '.join(models)}")
    rest = {key: value for key, value in document.items() if key not in lists}
    return Routing(order=lists.get("order", models), phases={
        phase: names for phase, names in lists.items() if phase in _PHASES}, **_arguments(rest))


_PHASES = (PLAN, IMPLEMENT, REPAIR)


def _retry(document: JsonObject) -> Retry:
    return Retry(**_arguments({name: seconds(value) if isinstance(value, str) else value
                               for name, value in document.items()}))


def _price(document: JsonObject) -> Price:
    given = _arguments(document)
    return Price(given["input"], given["output"], given.get("cache_read", given["input"]),
                 given.get("cache_write", given["input"]))


def _approvals(document: JsonObject) -> Approvals:
    return Approvals(**_arguments({name: seconds(value) if name != "mode" else value
                                   for name, value in document.items()
                                   if isinstance(value, str)}))


def _arguments(value: JsonValue) -> dict[str, Any]:
    """Keyword arguments; their names and types are as the schema has them."""
    return cast("dict[str, Any]", dict(entries(value)))


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)
    return value
