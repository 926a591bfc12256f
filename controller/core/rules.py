"""Everything that is fixed for a run and that gates, prompt and settling look things up in."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.core.action import EffectClass
from controller.core.canonical import JsonObject, JsonValue, entries, members
from controller.core.config import (
    FIRST_MODEL,
    Approvals,
    DriftConfig,
    ForgeConfig,
    Limits,
    ModelConfig,
    Price,
    Retry,
    Routing,
)
from controller.core.contract import Contract
from controller.core.policy import Policy
from controller.core.redact import Redactor
from controller.core.sourced import Pointer

Resolves: TypeAlias = Callable[[Pointer, str], bool]
"""Whether something stands where a pointer leads, in the worktree's tree of that id."""

MODEL, CONTROLLER, USER = "model", "controller", "user"

STAGED, OPTIMISTIC, DUAL = "staged", "optimistic", "dual"
"""What becomes of a patch when its action fails: it does not stand; it stands all the same; it does
not stand, and the state shows what was desired beside what is confirmed.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The skill spec P, the intent contract I, the domain's state schema, policy and limits.

    Rules are the same only when they are one object, so what is made of them can be cached by them.
    """

    skill: str
    contract: Contract
    state_schema: JsonObject
    transition_schema: JsonObject
    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    approvals: Approvals = field(default_factory=Approvals)
    terms: JsonObject = field(default_factory=dict)  # the contract's document, governed
    mark: str = ""  # digest of contract and policy: what answers of people are bound to
    forge: ForgeConfig | None = None
    drift: DriftConfig = field(default_factory=DriftConfig)
    models: Mapping[str, ModelConfig] = field(
        default_factory=lambda: {FIRST_MODEL: ModelConfig()})
    routing: Routing = field(default_factory=Routing)
    retry: Retry = field(default_factory=Retry)
    prices: Mapping[str, Price] = field(default_factory=dict)
    redactor: Redactor = field(default_factory=Redactor)
    resolves: Resolves = lambda place, tree: True

    def semantics(self, effect_class: EffectClass) -> str:
        """What becomes of a patch when its action fails, as the domain has chosen."""
        chosen = entries(self.state_schema.get("x-commit")).get(effect_class.value)
        return str(chosen or (DUAL if effect_class is EffectClass.EXTERNAL else STAGED))

    @property
    def owners(self) -> dict[str, str]:
        """Who may write each property of the state: model, controller or user."""
        return {name: str(prop.get("x-owner", CONTROLLER))
                for name, prop in properties(self.state_schema).items()}

    @property
    def max_state_bytes(self) -> int:
        """The size that the canonical JSON of the model's own fields must not pass."""
        limit = self.state_schema.get("x-max-bytes")
        return limit if isinstance(limit, int) else 32 * 1024


def properties(schema: JsonObject) -> dict[str, JsonObject]:
    """The property schemas of an object schema, by name."""
    return {name: entries(prop) for name, prop in entries(schema.get("properties")).items()}


def transition_schema(template: JsonObject, state_schema: JsonObject,
                      without: Collection[str] = ()) -> JsonObject:
    """The transition schema of one domain: `template` with the shape of its patches filled in, and
    without some kinds of actions.
    """
    owned = {name: _patch_of(prop, definitions(state_schema))
             for name, prop in properties(state_schema).items() if prop.get("x-owner") == MODEL}
    whole: JsonObject = dict(template)
    described = dict(properties(template))
    described["state_patch"] = {**described["state_patch"], "additionalProperties": False,
                                "properties": dict(owned)}
    if without:
        described["action"] = {**described["action"], "oneOf": [
            item for kind, item in offered(template).items() if kind not in without]}
        whole["definitions"] = {name: item for name, item in definitions(template).items()
                                if name not in without}
    whole["properties"] = dict(described)
    return whole


def offered(transition: JsonObject) -> dict[str, JsonValue]:
    """The kinds of actions that models may ask for by a transition schema, in its order, with the
    reference to each.
    """
    return {str(entries(item).get("$ref")).rpartition("/")[2]: item
            for item in members(properties(transition)["action"].get("oneOf"))}


def definitions(schema: JsonObject) -> dict[str, JsonObject]:
    """The named subschemas of a draft-07 schema."""
    return {name: entries(sub) for name, sub in entries(schema.get("definitions")).items()}


def inlined(schema: JsonValue, named: dict[str, JsonObject]) -> JsonValue:
    """`schema` with every `#/definitions/…` reference replaced by what it names."""
    if isinstance(schema, list):
        return [inlined(item, named) for item in schema]
    if not isinstance(schema, dict):
        return schema
    own = {key: inlined(value, named) for key, value in schema.items()
           if key not in ("$ref", "definitions", "$schema", "$id")}
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return own
    return {**entries(inlined(named[reference.rpartition("/")[2]], named)), **own}


def _patch_of(schema: JsonObject, named: dict[str, JsonObject]) -> JsonObject:
    """The schema of a patch to a value of `schema`: every key optional, null allowed."""
    whole = inlined(schema, named)
    assert isinstance(whole, dict)
    return _nullable(whole)


def _nullable(schema: JsonObject) -> JsonObject:
    if schema.get("type") != "object":
        enum = schema.get("enum")
        if isinstance(enum, list):
            return {**schema, "enum": [*enum, None]}
        return {**schema, "type": [str(schema.get("type", "string")), "null"]}
    loose: JsonObject = {key: value for key, value in schema.items()
                         if key not in ("required", "maxProperties", "x-owner")}
    loose["type"] = ["object", "null"]
    below = schema.get("additionalProperties")
    if isinstance(below, dict):
        loose["additionalProperties"] = _nullable(below)
    if properties(schema):
        loose["properties"] = {name: _nullable(prop) for name, prop in properties(schema).items()}
    return loose
