"""What a run has sent and spent, call by call: our bytes, what the interface adds, what replaying
the history would have cost. Read from the audit trail.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from controller.core.canonical import JsonObject, JsonValue, entries


@dataclass(frozen=True, slots=True)
class Spending:
    """One model call. None is unknown. `sent`: bytes of our prompt; `brought`: bytes that a
    conversation would have kept of it, reply and observation.
    """

    step: int
    model: str
    sent: int
    uncached: int | None
    cached: int | None
    output: int | None
    usd: float | None
    brought: int
    answered: bool = True

    @property
    def billed(self) -> int | None:
        """Tokens of the prompt as the backend counted them."""
        if self.uncached is None and self.cached is None:
            return None
        return (self.uncached or 0) + (self.cached or 0)


@dataclass(slots=True)
class Total:
    """All calls of a run. `replay` is an estimate, in tokens, before caching."""

    calls: list[Spending] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Bytes of our prompts."""
        return sum(call.sent for call in self.calls)

    @property
    def billed(self) -> int:
        """Tokens of prompts, as far as backends said."""
        return sum(call.billed or 0 for call in self.calls)

    @property
    def bytes_a_token(self) -> float | None:
        """How many of our bytes a token was, measured over the calls that were told: what the
        interface adds makes it too small.
        """
        told = [call for call in self.calls if call.billed]
        return sum(call.sent for call in told) / sum(call.billed or 0 for call in told
                                                     ) if told else None

    @property
    def replay(self) -> int | None:
        """Tokens that the same calls would have had with everything before them replayed."""
        each = self.bytes_a_token
        if not each:
            return None
        before, total = 0, 0
        for call in self.calls:
            total += (self.calls[0].sent if self.calls else 0) + before
            before += call.brought
        return round(total / each)


def total(records: Iterable[JsonObject]) -> Total:
    """What the audit trail of a run says of every call."""
    return Total(list(_calls(records)))


def _calls(records: Iterable[JsonObject]) -> Iterator[Spending]:
    for record in records:
        call = entries(record.get("call"))
        if record["kind"] == "lost" or (record["kind"] == "unanswered" and record.get("billed")):
            yield _spending(record, record, 0, answered=False)
        elif call and record["kind"] in ("committed", "refused", "parked") and not call["grant"]:
            shown = len(str(record.get("observation", "")).encode())
            asked = len(str(record.get("action", "")).encode())
            yield _spending(record, call, shown + asked)


def _spending(record: JsonObject, call: JsonObject, brought: int, *,
              answered: bool = True) -> Spending:
    usage = entries(call.get("usage"))
    cached = [_int(usage.get(key)) for key in ("cache_read", "cache_write")]
    usd = call.get("usd")
    return Spending(
        _int(record.get("step")) or 0, str(call.get("model", "")),
        _int(call.get("prompt_bytes")) or 0, _int(usage.get("input")),
        None if cached == [None, None] else sum(number or 0 for number in cached),
        _int(usage.get("output")), float(usd) if isinstance(usd, int | float) else None, brought,
        answered)


def _int(value: JsonValue) -> int | None:
    return value if isinstance(value, int) else None
