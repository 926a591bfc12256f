"""What model calls cost: what the backend says first, else a dated table, else nobody knows.

Unknown is not 0: a call without a price is counted as one.
"""

import re
from dataclasses import replace
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

_LONG = 32 * 1024
_UNCUT = ("codex_cli", "pi_cli", "command")
"""Adapters whose program can't be told how long an answer may be."""

_TIMES = {"claude_cli": 4}
"""How often a program asks for one answer: Claude goes on three times where one was cut off."""

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
    price = _table().get(_DATED.sub("", name))
    if price and config.adapter == "anthropic_api" and config.cache == "1h":
        return replace(price, cache_write=2 * price.input)  # the table's is of 5 minutes
    return price


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
    """What a call can cost at the worst: every byte a token, nothing cached, the longest answer, as
    often as the interface asks by itself. Of interfaces that can't be told how long an answer may
    be, _LONG is taken for the longest.
    """
    if config.adapter == "scripted":
        return Reserved()  # nobody is asked
    taken = len(prompt.text.encode()) + len(canonical(prompt.schema)) + _ADDED
    longest = max(config.max_output_tokens, _LONG) if config.adapter in _UNCUT else (
        config.max_output_tokens)
    times = _TIMES.get(config.adapter, 1)
    price = price_of(config, rules) or _dearest(config)
    usd = (taken * (max(price.input, price.cache_write) + (times - 1) * price.cache_read)
           + times * longest * price.output) / _MILLION if price else 0.0
    return Reserved(times * taken, times * longest, usd)


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
