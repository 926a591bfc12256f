"""What the stand-in forge knows, and the verbs by which tests and clients change it.

GitHub and GitLab are two views of it. Two things are simpler than in the world: every commit is
known, and issues and merge requests share one row of numbers at GitLab too.
"""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.forge.records import (
    ACTIONS,
    FINISHED,
    Check,
    Comment,
    Issue,
    Job,
    Pipeline,
    Pull,
    Status,
    Suite,
)
from tests.forge.wire import Exchange, Fault


@dataclass
class Forge:
    """One repository of a forge, in memory. Its clock is its own: a second for each thing written.

    `required` has the protected branches, each with its required checks and the app that a check
    must come from (None: any). `sha_of` says where a branch is; it raises KeyError when there is
    no such branch.
    """

    repo: str = "octo/demo"
    token: str = "test-token"
    user: str = "oneshot-bot"
    default_branch: str = "main"
    project_id: int = 42
    required: dict[str, dict[str, int | None]] = field(default_factory=dict)
    sha_of: Callable[[str], str] = field(default=lambda _: "0" * 40)
    faults: list[Fault] = field(default_factory=list)
    requests: list[Exchange] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)
    _suites: list[Suite] = field(default_factory=list, init=False)
    _checks: list[Check] = field(default_factory=list, init=False)
    _statuses: list[Status] = field(default_factory=list, init=False)
    _pipelines: list[Pipeline] = field(default_factory=list, init=False)
    _pulls: dict[int, Pull] = field(default_factory=dict, init=False)
    _issues: dict[int, Issue] = field(default_factory=dict, init=False)
    _comments: list[Comment] = field(default_factory=list, init=False)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1001), init=False)
    _now: datetime = field(default=datetime(2026, 1, 1, tzinfo=UTC), init=False)

    def check(
        self,
        sha: str,
        name: str,
        status: str,
        conclusion: str | None = None,
        app: int = ACTIONS,
        log: str = "",
        workflow: str = "CI",
    ) -> Check:
        """Report a check run. One that has not completed goes on; one that has is run again.

        A second run has a new id, a later start and the next attempt. As at GitHub, it is the
        completed checks that have a conclusion, and only those.
        """
        if (status == "completed") != (conclusion is not None):
            raise ValueError(f"{name}: a check has a conclusion when it is completed, not {status}")
        with self.lock:
            now = self._tick()
            begun = self._begun(self._suite(sha, app, workflow), name, now)
            completed = now if conclusion else None
            check = replace(
                begun, status=status, conclusion=conclusion, completed=completed, log=log
            )
            self._checks = [each for each in self._checks if each.id != check.id] + [check]
            return check

    def status(self, sha: str, context: str, state: str) -> Status:
        """Report a commit status: error, failure, pending or success."""
        with self.lock:
            status = Status(next(self._ids), sha, context, state, self._tick())
            self._statuses.append(status)
            return status

    def pipeline(
        self,
        sha: str,
        status: str,
        jobs: Iterable[Job] = (),
        source: str = "push",
        ref: str = "main",
    ) -> Pipeline:
        """Report a pipeline. The newest of this commit and source goes on until it has finished.

        Its jobs are the ones given, and keep the ids of the ones they are named like.
        """
        with self.lock:
            now = self._tick()
            old = self._running_pipeline(sha, source)
            known = {job.name: job.id for job in old.jobs} if old else {}
            numbered = (replace(job, id=known.get(job.name) or next(self._ids)) for job in jobs)
            fresh = old or Pipeline(next(self._ids), sha, ref, source, now, now, status, ())
            pipeline = replace(fresh, status=status, updated=now, jobs=tuple(numbered))
            if old:
                self._pipelines.remove(old)
            self._pipelines.append(pipeline)
            return pipeline

    def issue(self, n: int, title: str, body: str) -> Issue:
        """Put an issue at a number, in place of one that is there."""
        with self.lock:
            now = self._tick()
            self._issues[n] = Issue(next(self._ids), n, title, body, now, now)
            return self._issues[n]

    @property
    def pulls(self) -> list[Pull]:
        """The pull or merge requests, oldest first."""
        with self.lock:
            return [self._where_it_is(pull) for pull in self._pulls.values()]

    @property
    def comments(self) -> list[Comment]:
        """The comments on issues and pulls, oldest first."""
        with self.lock:
            return list(self._comments)

    def suites(self, sha: str = "") -> list[Suite]:
        """The suites, newest first, of one commit or of all."""
        return [suite for suite in reversed(self._suites) if sha in ("", suite.sha)]

    def checks(self, suite: Suite) -> list[Check]:
        """Every check run of a suite, newest first, those that were run again too."""
        found = [each for each in self._checks if each.suite == suite]
        return sorted(found, key=lambda each: each.id, reverse=True)

    def latest_checks(self, suite: Suite) -> list[Check]:
        """The newest check run of each name, newest first."""
        newest: dict[str, Check] = {}
        for each in self.checks(suite):
            newest.setdefault(each.name, each)
        return list(newest.values())

    def statuses(self, sha: str) -> list[Status]:
        """The newest status of each context of a commit."""
        return list({each.context: each for each in self._statuses if each.sha == sha}.values())

    def pipelines(self, sha: str = "") -> list[Pipeline]:
        """The pipelines, newest first, of one commit or of all."""
        found = [each for each in self._pipelines if sha in ("", each.sha)]
        return sorted(found, key=lambda each: each.id, reverse=True)

    def comments_on(self, number: int) -> list[Comment]:
        """The comments on one issue or pull, oldest first."""
        return [comment for comment in self._comments if comment.number == number]

    def find_pull(self, number: int) -> Pull | None:
        """The pull with this number; its sha is where its branch is now."""
        pull = self._pulls.get(number)
        return pull and self._where_it_is(pull)

    def find_issue(self, number: int) -> Issue | None:
        """The issue with this number. A pull is not one here, though it is at GitHub."""
        return self._issues.get(number)

    def open_pull(self, title: str, body: str, head: str, base: str, draft: bool) -> Pull:
        """A new pull; KeyError when there is no such branch."""
        sha = self.sha_of(head.partition(":")[2])
        number = max([0, *self._pulls, *self._issues]) + 1
        now = self._tick()
        pull = Pull(next(self._ids), number, title, body, head, base, draft, sha, now, now)
        self._pulls[number] = pull
        return pull

    def edit_pull(self, pull: Pull, changes: dict[str, Any]) -> Pull:
        """The pull with some of its fields changed."""
        edited = replace(pull, **changes, updated=self._tick())
        self._pulls[pull.number] = edited
        return edited

    def open_pull_of(self, head: str, base: str) -> Pull | None:
        """The open pull between two branches: there is at most one."""
        same = (each for each in self._pulls.values() if (each.head, each.base) == (head, base))
        return next((each for each in same if each.state == "open"), None)

    def add_comment(self, number: int, body: str) -> Comment:
        """A new comment."""
        comment = Comment(next(self._ids), number, body, self._tick())
        self._comments.append(comment)
        return comment

    def sha_at(self, branch: str, default: str = "0" * 40) -> str:
        """Where a branch is, or the default when there is no such branch."""
        try:
            return self.sha_of(branch)
        except KeyError:
            return default

    def take_fault(self, method: str, path: str) -> Fault | None:
        """The first fault that waits for such a request; it is used up."""
        for fault in self.faults:
            if fault.method == method and path.startswith(fault.prefix):
                self.faults.remove(fault)
                return fault
        return None

    def _where_it_is(self, pull: Pull) -> Pull:
        return replace(pull, sha=self.sha_at(pull.branch, pull.sha))

    def _suite(self, sha: str, app: int, workflow: str) -> Suite:
        for suite in self._suites:
            if (suite.sha, suite.app, suite.workflow) == (sha, app, workflow):
                return suite
        suite = Suite(next(self._ids), next(self._ids), sha, app, workflow)
        self._suites.append(suite)
        return suite

    def _begun(self, suite: Suite, name: str, now: datetime) -> Check:
        old = next((each for each in self.latest_checks(suite) if each.name == name), None)
        if old and not old.completed:
            return old
        attempt = old.attempt + 1 if old else 1
        return Check(next(self._ids), suite, name, attempt, started=now, status="queued")

    def _running_pipeline(self, sha: str, source: str) -> Pipeline | None:
        newest = next((each for each in self.pipelines(sha) if each.source == source), None)
        return newest if newest and newest.status not in FINISHED else None

    def _tick(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now
