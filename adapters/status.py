"""What an HTTP answer that is none means: by its status and its fields, for every API alike."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from controller.core.canonical import JsonValue, entries
from controller.core.miss import (
    AuthFailed,
    Broken,
    BudgetStop,
    Declined,
    Limit,
    Overloaded,
    TooLarge,
    Unknown,
    Unreachable,
    Why,
)

_LARGE = re.compile(r"prompt is too long|context_length_exceeded|exceed_context_size"
                    r"|maximum context length|exceed the context|context window", re.IGNORECASE)
_POOR = re.compile(r"credit balance|insufficient_quota|billing_hard_limit", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content_policy|usage polic|flagged", re.IGNORECASE)


def by_status(status: int, words: str, headers: Mapping[str, str], body: JsonValue) -> Why:
    """The reason behind an HTTP status. Words count only where APIs have no field of their own.

    A status of 200 is an error inside a stream: its type says what the status would have.
    """
    said = f"{_error_type(body)} {words}"
    told = _by_words(status, said)
    if told:
        return told
    if status == 429:
        return _limited(headers)
    if status >= 500:
        return Overloaded(_retry_after(headers))
    by_number = _BY_NUMBER.get(status)
    return by_number or (Broken() if 400 <= status < 500 else _in_stream(said))


_BY_NUMBER: dict[int, Why] = {401: AuthFailed(), 402: BudgetStop(), 403: AuthFailed(),
                              408: Unreachable(), 409: Unreachable(), 425: Overloaded()}


def _by_words(status: int, said: str) -> Why | None:
    """What no status tells apart."""
    if status == 413 or _LARGE.search(said):
        return TooLarge()
    if _POOR.search(said):
        return BudgetStop()
    return Declined() if status == 400 and _FILTERED.search(said) else None


def _in_stream(said: str) -> Why:
    for mark, why in (("overloaded", Overloaded()), ("rate_limit", Overloaded()),
                      ("authentication", AuthFailed()), ("permission", AuthFailed()),
                      ("api_error", Overloaded()), ("server_error", Overloaded()),
                      ("invalid_prompt", Declined()), ("invalid_request", Broken()),
                      ("timeout", Unreachable())):
        if mark in said:
            return why
    return Unknown()


def _error_type(body: JsonValue) -> str:
    error = entries(entries(body).get("error")) or entries(body)
    return f"{error.get('type', '')} {error.get('code', '')}"


def _limited(headers: Mapping[str, str]) -> Why:
    """A limit whose end is told as a moment is a plan's; the others pass by themselves."""
    resets = headers.get("anthropic-ratelimit-unified-reset", "")
    if resets.isdigit():
        return Limit(datetime.fromtimestamp(int(resets), UTC))
    return Overloaded(_retry_after(headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, where the header has them (RFC 9110, 10.2.3, has dates as well: nobody sends one).

    >>> _retry_after({"retry-after": "7"}), _retry_after({"retry-after": "soon"})
    (7.0, None)
    """
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 30 * 86400 else None
