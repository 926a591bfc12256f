"""The records a forge keeps. None of them changes: a newer one takes its place."""

from dataclasses import dataclass
from datetime import datetime

ACTIONS = 15368  # the id of the GitHub Actions app
FINISHED = ("success", "failed", "canceled", "skipped")


@dataclass(frozen=True, slots=True)
class Suite:
    """The checks of one app for one commit; those of GitHub Actions are a workflow run."""

    id: int
    run: int
    sha: str
    app: int
    workflow: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check run. One of GitHub Actions is also a job, with the same id."""

    id: int
    suite: Suite
    name: str
    attempt: int
    started: datetime
    status: str
    conclusion: str | None = None
    completed: datetime | None = None
    log: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """A commit status: the older system, which knows nothing of check runs."""

    id: int
    sha: str
    context: str
    state: str
    updated: datetime


@dataclass(frozen=True, slots=True)
class Job:
    """A GitLab job. The forge gives it its id."""

    name: str
    status: str
    stage: str = "test"
    allow_failure: bool = False
    log: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A GitLab pipeline with its jobs."""

    id: int
    sha: str
    ref: str
    source: str
    created: datetime
    updated: datetime
    status: str
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull or merge request. `head` is `owner:branch`; `state` is open or closed."""

    id: int
    number: int
    title: str
    body: str
    head: str
    base: str
    draft: bool
    sha: str
    created: datetime
    updated: datetime
    state: str = "open"

    @property
    def branch(self) -> str:
        """The branch that is to be merged, without its owner."""
        return self.head.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue."""

    id: int
    number: int
    title: str
    body: str
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on the issue or pull with this number."""

    id: int
    number: int
    body: str
    created: datetime
