"""What a run puts on a forge, and the marks by which it is found again."""

import re
from dataclasses import dataclass

PUSH, PULL_REQUEST, COMMENT = "push", "pull_request", "comment"
"""The kinds of actions that reach a forge, as a policy grants them."""

DELIVERY = (PUSH, PULL_REQUEST, COMMENT)


@dataclass(frozen=True, slots=True)
class Thread:
    """Where comments stand: an issue, or a pull (merge) request, by its number."""

    kind: str  # issue or pull_request
    number: int


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request (GitLab: merge request) as the forge has it."""

    number: int
    url: str
    body: str
    open: bool
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as the forge has it."""

    url: str
    title: str
    body: str
    state: str

    @property
    def text(self) -> str:
        """What it says, as one text."""
        return f"{self.title}\n\n{self.body}".strip()


def marked(body: str, key: str, run: str) -> str:
    """A text for the forge with the mark of the effect that writes it: a lost write is found so."""
    return f"{body.rstrip()}\n\n<!-- oneshot run={run} key={key} -->"


def keys(body: str) -> tuple[str, ...]:
    """The keys of the effects that have written a text.

    >>> keys(marked("Hello", "k1", "r"))
    ('k1',)
    """
    return tuple(re.findall(r"<!-- oneshot run=[\w.-]{1,80} key=(\w{1,64}) -->", body))
