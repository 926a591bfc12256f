"""What is worth telling a person who is asleep: that he is needed, that it is over, that it nears a
limit, that nothing answers. Never a step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.core.budget import near
from controller.core.canonical import JsonObject, JsonValue
from controller.core.head import Head, Stop
from controller.core.observation import one_line
from controller.core.redact import showable
from controller.core.rules import Rules
from controller.core.showing import details

_WHOLE = 2500  # bytes of what a question is about; ntfy takes messages of 4096
_FEW = 10  # lines of what is longer

_LONG = timedelta(minutes=10)
"""For so long models may be away before somebody is told."""

_STOPS = {Stop.FINISHED: "done", Stop.STUCK: "stuck", Stop.LIMIT: "limit",
          Stop.WAITING: "needs-you"}


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell. Notices of one `key` are one thing: told again only after a while."""

    event: str
    key: str
    title: str
    text: str


def notices(record: JsonObject, head: Head, rules: Rules, began: datetime) -> Iterator[Notice]:
    """What an audit record, and where the run stands after it, is to be told as."""
    kind = str(record["kind"])
    if kind == "unanswered" and _lasts(record, head):
        yield _notice("backend-down", "backend-down", "the model does not answer",
                      str(record["reason"]))
    if kind in ("conflict", "asked again"):
        yield _notice("needs-you", f"needs-you/{record['confirmation']}/{record['number']}",
                      f"a question: {record['confirmation']}", str(record.get("text", "")))
    if head.stopped and head.stopped.why in _STOPS and kind in ("committed", "stopped", "unknown"):
        event = _STOPS[head.stopped.why]
        yield _notice(event, f"{event}/{head.version}/{head.stopped.reason}",
                      f"{event}: {head.stopped.reason}", "")
    elif kind in ("parked", "committed") and record.get("confirmation"):
        asked = record["confirmation"]
        yield _notice("needs-you", f"needs-you/{asked}/{record['number']}",
                      f"needs you: {asked}", "")
    at = datetime.fromisoformat(str(record["at"]))
    for name, words in near(head, rules, (at - began).total_seconds()):
        yield _notice("limit-near", f"limit-near/{name}", words, "")


def _lasts(record: JsonObject, head: Head) -> bool:
    """Whether a failure is worth waking somebody: it lasts, or nobody is left to be asked."""
    at = datetime.fromisoformat(str(record["at"]))
    until = record.get("until")
    wait = datetime.fromisoformat(str(until)) - at if until else timedelta(0)
    gone = head.asking.model in head.asking.aside and not until
    since = at - head.asking.since if head.asking.since else timedelta(0)
    return gone or max(wait, since) >= _LONG


def document(notice: Notice, head: Head, goal: str, questions: JsonValue) -> JsonObject:
    """A notice as it is sent (schema oneshot/notice@1), with the questions that are open."""
    return {"schema": "oneshot/notice@1", "event": notice.event, "run": head.run,
            "goal": showable(goal), "title": notice.title, "message": notice.text,
            "step": head.spent.steps, "version": head.version, "questions": questions}


def question(item: JsonObject, contract: JsonObject, token: str) -> JsonObject:
    """A question as it is sent: all that he would agree to, and the word that answers it once. What
    is too long to be sent whole has no such word: nobody agrees to what he has not seen.
    """
    lines = list(details(item, contract))
    whole = sum(len(line.encode()) + 1 for line in lines) <= _WHOLE
    return {"id": item["id"], "kind": item["kind"], "summary": one_line(str(item["summary"])),
            "details": list[JsonValue](lines if whole else [
                *lines[:_FEW], f"… too long to be sent: oneshot approvals {item['id']}"]),
            "expires": item.get("expires"), "token": token if whole else None}


def _notice(event: str, key: str, title: str, text: str) -> Notice:
    return Notice(event, key, one_line(title), showable(text)[:1000])
