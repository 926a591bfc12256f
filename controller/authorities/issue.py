"""The issue that a run is about, as an authority: a source of the contract, and watched.

It stands on a forge, or in a file of the user's checkout. It comes from outside: whoever may write
there is no user, so what it says is told and never obeyed.
"""

from dataclasses import dataclass
from pathlib import Path

from controller.core.canonical import JsonObject, digest, entries
from controller.core.delivery import Issue
from controller.core.drift import Drift
from controller.core.head import Head
from controller.core.redact import Redactor

_LARGEST = 1024 * 1024  # bytes of a file
_TOLD = 20_000  # characters of an issue that are told


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look elsewhere came to: fields of Σ, drift, whether it tells text from outside."""

    fields: dict[str, JsonObject]
    drift: tuple[Drift, ...] = ()
    exposed: bool = False


@dataclass(frozen=True, slots=True)
class IssueFile:
    """An issue in a file of the user's checkout, as it lies there now."""

    root: Path
    path: str
    redactor: Redactor
    trusted: bool = False

    def look(self, head: Head) -> Seen:
        """What differs from what the head's state says."""
        try:
            text = (self.root / self.path).read_bytes()[:_LARGEST].decode("utf-8", "replace")
        except OSError:
            issue = Issue(self.path, "", "", "gone")
        else:
            issue = Issue(self.path, "", text, "a file")
        field, news = compared(entries(head.state.get("issue")), issue, self.redactor)
        return Seen({"issue": field}, tuple(news), bool(news) and not self.trusted)


def compared(known: JsonObject, issue: Issue, redactor: Redactor) -> tuple[JsonObject, list[Drift]]:
    """Σ's `issue`, and what of it is another than what is `known`. That there is one is news."""
    now: JsonObject = {"source": issue.url[:300], "digest": digest(issue.text),
                       "state": issue.state[:40]}
    text = redactor.clean(issue.text[:_TOLD].encode())
    if not known:
        return now, [Drift("issue", f"{issue.url} ({issue.state}) says:\n{text}", news=True)]
    if (known.get("digest"), known.get("state")) == (now["digest"], now["state"]):
        return now, []
    return now, [Drift("issue", f"{issue.url} was changed; it is {issue.state} and says now:"
                       f"\n{text}")]
