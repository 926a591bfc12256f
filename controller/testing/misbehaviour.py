"""Every way in which a model call goes wrong, and what each is to come to.

One table for all adapters: a case is what the server answers; the verdict is the kind of miss that
an adapter has to tell, `Reply` where an answer came for the gates to judge.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.testing.wire import Answer, Delivery, Manner

FIRST, IDLE, TOTAL = "TimedOut first byte", "TimedOut idle", "TimedOut total"
"""Which clock has to run out."""

RESETS = 1_796_026_930
"""When the usage limit of a plan is over, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Case:
    """One misbehaviour. `verdicts` has the adapters for which another verdict than `verdict` is
    right, and why that is so stands beside it; `quick`: the clocks are set to a few seconds.
    """

    name: str
    answer: Answer
    verdict: str
    verdicts: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False

    def right(self, adapter: str) -> tuple[str, ...]:
        """Every verdict that is right for an adapter."""
        return tuple(self.verdicts.get(adapter, self.verdict).split(" or "))


TRANSITION = {"expected_version": 0, "state_patch": {},
              "action": {"kind": "finish", "result": "impossible", "summary": "x"}}
"""What a model says when all is well; for strict schemas the patch is a list."""


def cases(*, ops: bool) -> tuple[Case, ...]:
    """The table, with good answers in the dialect of the client."""
    good = json.dumps({**TRANSITION, "state_patch": []} if ops else TRANSITION)
    return (*_statuses(), *_deliveries(good), *_manners(good), *_texts(good))


_TOLD_BY_EXIT = {"command": "Broken"}
"""A program has its exit code to say so, and no more."""


def _statuses() -> tuple[Case, ...]:
    plan = {"anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": str(RESETS),
            "anthropic-ratelimit-unified-representative-claim": "five_hour"}
    return (
        Case("429 with retry-after", _no(429, "slow down", headers={"retry-after": "7"}),
             "Overloaded"),
        Case("429 without a time", _no(429, "slow down"), "Overloaded"),
        Case("429 of a plan, with its end", _no(429, "limit reached", headers=plan), "Limit", {
            # They show no headers.
            **dict.fromkeys(("claude_cli key", "codex_cli", "pi_cli", "command"), "Overloaded")}),
        Case("429 without money", _no(429, "You exceeded your current quota",
                                      code="insufficient_quota"), "BudgetStop", {
            # Claude's own has another way to say so; of this one it tells the status only.
            **dict.fromkeys(("claude_cli key", "claude_cli login", "command"), "Overloaded")}),
        Case("529", _no(529, "Overloaded", code="overloaded_error"), "Overloaded"),
        Case("500", _no(500, "Internal server error"), "Overloaded"),
        Case("503", _no(503, "Service unavailable"), "Overloaded"),
        Case("401", _no(401, "invalid x-api-key"), "AuthFailed"),
        Case("403", _no(403, "not allowed"), "AuthFailed"),
        Case("404", _no(404, "model: nothing"), "Broken"),
        Case("400", _no(400, "temperature: not a number"), "Broken"),
        Case("400 credit", _no(400, "Your credit balance is too low to access the API"),
             "BudgetStop", _TOLD_BY_EXIT),
        Case("400 too long", _no(400, "prompt is too long: 250000 tokens > 200000 maximum"),
             "TooLarge", _TOLD_BY_EXIT),
        Case("413", _no(413, "Request exceeds the maximum size"), "TooLarge", _TOLD_BY_EXIT),
    )


def _deliveries(good: str) -> tuple[Case, ...]:
    # With codex only the whole time is bounded from outside: it writes one event an answer. The
    # OpenAI APIs are asked for whole answers, so there is no first byte before the last.
    whole = ("codex_cli", "openai_responses", "openai_chat", "openai_plain", "command")
    return (
        Case("nothing comes", Answer(good, delivery=Delivery.SILENT), FIRST,
             dict.fromkeys(whole, TOTAL), quick=True),
        Case("stalls in the middle", Answer(good, delivery=Delivery.STALLED), IDLE, {
            # A program may take as long to begin as its first byte may take.
            **dict.fromkeys(("claude_cli key", "claude_cli login", "pi_cli"), f"{IDLE} or {FIRST}"),
            **dict.fromkeys(whole, TOTAL), "codex_cli": f"{IDLE} or {TOTAL} or Unreachable"},
            quick=True),
        Case("a slow drip", Answer(good, delivery=Delivery.DRIPPED),
             f"{TOTAL} or {IDLE} or {FIRST}", {
            **dict.fromkeys(whole, TOTAL), "codex_cli": f"{IDLE} or {TOTAL} or Unreachable"},
            quick=True),
        Case("reset in the middle", Answer(good, delivery=Delivery.RESET), "Unreachable"),
        Case("ends in the middle", Answer(good, delivery=Delivery.ENDED), "Unreachable"),
        Case("a web page", Answer(good, delivery=Delivery.NOT_HTTP), "Unreachable"),
    )


def _manners(good: str) -> tuple[Case, ...]:
    half = good[:len(good) // 2]
    return (
        Case("cut by max tokens", Answer(half, manner=Manner.CUT), "Truncated", {
            "command": "Malformed"}),  # what it prints is all that it says
        Case("declines", Answer("I can't help with that.", manner=Manner.REFUSED), "Declined", {
            "command": "Malformed"}),
        Case("says nothing", Answer("", manner=Manner.EMPTY), "Malformed", {
            # Codex drops refusals: nothing and no are one to it.
            "codex_cli": "Declined"}),
        Case("only thinks", Answer("Let me think.", manner=Manner.THOUGHTS), "Malformed", {
            "codex_cli": "Declined"}),
        Case("calls a tool", Answer(good, manner=Manner.FOREIGN), "Malformed"),
        Case("answers twice", Answer(good, manner=Manner.TWICE), "Malformed"),
        Case("text where a tool was asked for", Answer(good, manner=Manner.PLAIN), "Reply"),
    )


def _texts(good: str) -> tuple[Case, ...]:
    twice = good[:-1] + ', "action": {"kind": "commit", "message": "evil"}}'
    return (
        Case("prose", _text("I would rather talk about it."), "Malformed"),
        Case("a fence", _text(f"```json\n{good}\n```"), "Reply"),
        Case("prose around", _text(f"Here it is: {good} Done."), "Reply"),
        Case("misses the schema", _text(
            '{"expected_version": 0, "state_patch": {}, "action": {"kind": "dance"}}'), "Reply"),
        Case("a list", _text("[1, 2]"), "Malformed"),
        Case("5 MB", _text(json.dumps({**json.loads(good), "reasoning": "x" * 5_000_000})),
             "Malformed"),
        Case("control characters", _text(good.replace('"x"', '"\x00\x1b[2J"')), "Malformed"),
        Case("a key twice", _text(twice), "Malformed"),
        Case("NaN", _text(good.replace('"expected_version": 0', '"expected_version": NaN')),
             "Malformed"),
        Case("half a surrogate", _text(good.replace('"x"', '"\\ud800"')), "Malformed"),
    )


def _text(text: str) -> Answer:
    return Answer(text)


def _no(status: int, words: str, code: str = "",
        headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(words, status=status, code=code, headers=headers or {})
