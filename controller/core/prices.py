"""What model calls cost: what the backend says first, else a dated table, else nobody knows.

Unknown is not 0: a call without a price is counted as one.
"""

import re
from functools import lru_cache

import contracts
from controller.core.canonical import JsonObject, JsonValue, canonical, entries
from controller.core.config import ModelConfig, Price
from controller.core.head import Reserved
from controller.core.records import Prompt, Usage
from controller.core.rules import Rules

_MILLION = 1_000_000

_ADDED = 8 * 1024
"""Tokens that an interface may add to a prompt, at most: what the doctor measures is far below."""

_DATED = re.compile(r"-(?:latest|\d{8}|\d{4}-\d{2}-\d{2})$")
"""How a name ends that is one edition of a model."""

_FAMILIES = {"claude_cli": "claude-", "anthropic_api": "claude-", "codex_cli": "gpt-"}
"""Adapter -> how the names of the models begin that it reaches."""


def price_of(config: ModelConfig, rules: Rules) -> Price | None:
    """The price of a model: as the user has written it, or the table's. None: nobody knows."""
    name = (config.model or "").rpartition("/")[2]
    if name in rules.prices:
        return rules.prices[name]
    if config.base_url and config.adapter == "openai_api":
        return None  # somebody else's server: its names are not those of the table
    return _table().get(_DATED.sub("", name))


def known_price(config: ModelConfig, rules: Rules) -> bool:
    """Whether what a call costs is told: by the table, or by the interface itself."""
    return config.adapter in ("claude_cli", "scripted") or price_of(config, rules) is not None


def cost(usage: Usage, price: Price | None) -> float | None:
    """What a call cost in US dollars: what the backend said, or what its tokens come to."""
    if usage.usd is not None or price is None or usage.output is None:
        return usage.usd
    return ((usage.input or 0) * price.input + (usage.cache_read or 0) * price.cache_read
            + (usage.cache_write or 0) * price.cache_write + usage.output * price.output) / _MILLION


def worst(prompt: Prompt, config: ModelConfig, rules: Rules) -> Reserved:
    """What a call can cost at the worst: every byte a token, nothing cached, the longest answer."""
    taken = len(prompt.text.encode()) + len(canonical(prompt.schema)) + _ADDED
    price = price_of(config, rules) or _dearest(config)
    usd = (taken * max(price.input, price.cache_write)
           + config.max_output_tokens * price.output) / _MILLION if price else 0.0
    return Reserved(taken, config.max_output_tokens, usd)


def _dearest(config: ModelConfig) -> Price | None:
    """The highest price that an interface can ask whose model is not known: it chooses itself."""
    family = _FAMILIES.get(config.adapter)
    found = [price for model, price in _table().items() if family and model.startswith(family)]
    return max(found, key=lambda price: price.output, default=None)


def as_of() -> str:
    """The day of the table."""
    return str(contracts.prices()["as_of"])


@lru_cache(maxsize=1)
def _table() -> dict[str, Price]:
    models: JsonValue = contracts.prices()["models"]  # type: ignore[assignment]  # JSON, as parsed
    return {name: _price(entries(item)) for name, item in entries(models).items()}


def _price(item: JsonObject) -> Price:
    numbers = {key: float(value) for key, value in item.items() if isinstance(value, int | float)}
    return Price(numbers["input"], numbers["output"], numbers.get("cache_read", numbers["input"]),
                 numbers.get("cache_write", numbers["input"]))
