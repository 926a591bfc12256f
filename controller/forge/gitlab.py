"""GitLab's REST API, version 4 (docs.gitlab.com/api)."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from controller.core.canonical import JsonObject, entries, members
from controller.core.delivery import Issue, Pull, Thread
from controller.core.hosted import OWN, Check, State
from controller.web import Unreachable, Web, line_of, text_of

API = "https://gitlab.com/api/v4"

_STATES = {
    "created": State.QUEUED, "waiting_for_resource": State.QUEUED, "preparing": State.QUEUED,
    "waiting_for_callback": State.QUEUED, "pending": State.QUEUED, "scheduled": State.QUEUED,
    "running": State.RUNNING, "canceling": State.RUNNING, "success": State.SUCCESS,
    "failed": State.FAILURE, "canceled": State.CANCELLED, "skipped": State.SKIPPED,
    "manual": State.ACTION_REQUIRED}


@dataclass(frozen=True, slots=True)
class GitLab:
    """One project, by its path `group/name`."""

    web: Web
    repo: str
    api: str = API
    name: str = "GitLab"

    def checks(self, commit: str) -> tuple[Check, ...]:
        """The jobs of every pipeline of a Git commit; a pipeline's own state hides jobs that may
        fail, so it is not asked for.
        """
        return tuple(
            _job(job, pipeline)
            for pipeline in self._all(f"/pipelines?sha={commit}&per_page=100")
            for job in self._all(f"/pipelines/{pipeline['id']}/jobs?per_page=100"))

    def log(self, check: Check) -> str:
        try:
            return self.web.follow(self._at(check.log)).text if check.log else ""
        except Unreachable as why:
            if why.status in (403, 404):
                return ""
            raise

    def required(self, branch: str) -> tuple[str, ...]:
        """GitLab names no required jobs: what it requires is that the pipeline succeeds."""
        return ()

    def issue(self, number: int) -> Issue:
        found = entries(self.web.get(self._at(f"/issues/{number}")).json)
        return Issue(text_of(found, "web_url"), text_of(found, "title"),
                     str(found.get("description") or ""), text_of(found, "state"))

    def pulls(self, branch: str) -> tuple[Pull, ...]:
        found = self._all(f"/merge_requests?source_branch={quote(branch, safe='')}&state=all"
                          "&per_page=100")
        ours = [item for item in found  # a fork may have a branch of that name
                if item.get("source_project_id") == item.get("target_project_id")]
        return tuple(sorted(map(_request, ours), key=lambda pull: not pull.open))

    def open_pull(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        return _request(entries(self.web.send("POST", self._at("/merge_requests"), {
            "source_branch": branch, "target_branch": base, "description": body,
            "title": _title(title, draft=draft)}).json))

    def edit_pull(self, number: int, title: str, body: str, *, draft: bool) -> Pull:
        return _request(entries(self.web.send("PUT", self._at(f"/merge_requests/{number}"), {
            "title": _title(title, draft=draft), "description": body}).json))

    def comments(self, thread: Thread) -> Iterator[str]:
        for item in self._all(f"{_notes(thread)}?per_page=100&sort=asc"):
            yield str(item.get("body") or "")

    def comment(self, thread: Thread, body: str) -> str:
        made = entries(self.web.send("POST", self._at(_notes(thread)), {"body": body}).json)
        return f"{_notes(thread)}#note_{made.get('id', '')}"

    def _at(self, path: str) -> str:
        return f"{self.api}/projects/{quote(self.repo, safe='')}{path}"

    def _all(self, path: str) -> list[JsonObject]:
        """Every item of a list, all pages of it."""
        return [entries(item) for page in self.web.pages(self._at(path)) for item in members(page)]


def _title(title: str, *, draft: bool) -> str:
    return f"Draft: {title}" if draft else title


def _job(job: JsonObject, pipeline: JsonObject) -> Check:
    return Check(text_of(job, "name"), _STATES.get(text_of(job, "status"), State.ACTION_REQUIRED),
                 text_of(pipeline, "sha"), OWN,
                 text_of(pipeline, "id").zfill(20) + text_of(job, "id").zfill(20), "",
                 line_of(job, "web_url"), f"/jobs/{job['id']}/trace")


def _request(item: JsonObject) -> Pull:
    return Pull(int(text_of(item, "iid")), text_of(item, "web_url"),
                str(item.get("description") or ""), item.get("state") == "opened",
                line_of(item, "sha"))


def _notes(thread: Thread) -> str:
    kind = "merge_requests" if thread.kind == "pull_request" else "issues"
    return f"/{kind}/{thread.number}/notes"
