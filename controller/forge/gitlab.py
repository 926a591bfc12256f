"""GitLab's REST API, version 4 (docs.gitlab.com/api)."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from controller.core.canonical import JsonObject, entries, members
from controller.core.delivery import Issue, Pull, Thread
from controller.core.hosted import OWN, Check, State
from controller.web import Unreachable, Web

API = "https://gitlab.com/api/v4"

_PAGES = 20  # of one list

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
            _job(job, commit, pipeline)
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
        return Issue(str(found["web_url"]), str(found["title"]),
                     str(found.get("description") or ""), str(found["state"]))

    def pulls(self, branch: str) -> tuple[Pull, ...]:
        found = self._all(f"/merge_requests?source_branch={quote(branch, safe='')}&state=all"
                          "&per_page=100")
        return tuple(sorted(map(_request, found), key=lambda pull: not pull.open))

    def open_pull(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        return _request(entries(self.web.send("POST", self._at("/merge_requests"), {
            "source_branch": branch, "target_branch": base, "description": body,
            "title": f"Draft: {title}" if draft else title}).json))

    def edit_pull(self, number: int, title: str, body: str) -> Pull:
        return _request(entries(self.web.send("PUT", self._at(f"/merge_requests/{number}"), {
            "title": title, "description": body}).json))

    def comments(self, thread: Thread) -> Iterator[str]:
        for item in self._all(f"{_notes(thread)}?per_page=100&sort=asc"):
            yield str(item.get("body") or "")

    def comment(self, thread: Thread, body: str) -> str:
        made = entries(self.web.send("POST", self._at(_notes(thread)), {"body": body}).json)
        return f"{_notes(thread)}#note_{made.get('id', '')}"

    def _at(self, path: str) -> str:
        return f"{self.api}/projects/{quote(self.repo, safe='')}{path}"

    def _all(self, path: str) -> list[JsonObject]:
        found: list[JsonObject] = []
        address: str | None = self._at(path)
        for _ in range(_PAGES):
            if address is None:
                break
            answer = self.web.get(address)
            found += map(entries, members(answer.json))
            address = answer.next
        return found


def _job(job: JsonObject, commit: str, pipeline: JsonObject) -> Check:
    return Check(str(job["name"]), _STATES.get(str(job["status"]), State.ACTION_REQUIRED), commit,
                 OWN, f"{int(str(pipeline['id'])):020d}", f"{int(str(job['id'])):020d}",
                 str(job.get("web_url") or ""), f"/jobs/{job['id']}/trace")


def _request(item: JsonObject) -> Pull:
    return Pull(int(str(item["iid"])), str(item["web_url"]), str(item.get("description") or ""),
                item.get("state") == "opened", str(item.get("sha") or ""))


def _notes(thread: Thread) -> str:
    kind = "merge_requests" if thread.kind == "pull_request" else "issues"
    return f"/{kind}/{thread.number}/notes"
