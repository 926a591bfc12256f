"""GitHub's REST API (docs.github.com/rest, version 2022-11-28), or what speaks it."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from controller.core.canonical import JsonObject, entries, members
from controller.core.delivery import Issue, Pull, Thread
from controller.core.hosted import OWN, Check, State
from controller.web import Unreachable, Web

API = "https://api.github.com"

_PAGES = 20  # of one list
_ACTIONS = 15368  # the id of the app GitHub Actions

_STATES = {"queued": State.QUEUED, "waiting": State.ACTION_REQUIRED, "requested": State.QUEUED,
           "pending": State.QUEUED, "in_progress": State.RUNNING}

_ENDS = {"success": State.SUCCESS, "failure": State.FAILURE, "cancelled": State.CANCELLED,
         "skipped": State.SKIPPED, "neutral": State.NEUTRAL, "stale": State.STALE,
         "timed_out": State.TIMED_OUT, "action_required": State.ACTION_REQUIRED,
         "startup_failure": State.FAILURE}

_STATUSES = {"success": State.SUCCESS, "failure": State.FAILURE, "error": State.FAILURE,
             "pending": State.RUNNING}


@dataclass(frozen=True, slots=True)
class GitHub:
    """One repository, `owner/name`."""

    web: Web
    repo: str
    api: str = API
    name: str = "GitHub"

    def checks(self, commit: str) -> tuple[Check, ...]:
        """Check runs, by app, and commit statuses: two systems that know nothing of each other."""
        runs = self._all(f"/commits/{commit}/check-runs?per_page=100&filter=latest", "check_runs")
        statuses = entries(self.web.get(self._at(f"/commits/{commit}/status")).json)
        return (*map(_run, runs), *(_status(entries(item), str(statuses.get("sha", commit)))
                                    for item in members(statuses.get("statuses"))))

    def log(self, check: Check) -> str:
        """The log of a job of Actions; another app keeps its own, behind its address."""
        try:
            return self.web.follow(self._at(check.log)).text if check.log else ""
        except Unreachable as why:
            if why.status in (403, 404, 410):  # expired, or not for us
                return ""
            raise

    def required(self, branch: str) -> tuple[str, ...]:
        try:
            found = entries(self.web.get(self._at(
                f"/branches/{quote(branch, safe='')}/protection/required_status_checks")).json)
        except Unreachable as why:
            if why.status == 404:
                return ()
            raise
        return tuple(sorted(f"{entries(item).get('context')} (app {entries(item).get('app_id')})"
                            for item in members(found.get("checks"))))

    def issue(self, number: int) -> Issue:
        found = entries(self.web.get(self._at(f"/issues/{number}")).json)
        return Issue(str(found["html_url"]), str(found["title"]), str(found.get("body") or ""),
                     str(found["state"]))

    def pulls(self, branch: str) -> tuple[Pull, ...]:
        owner = self.repo.split("/")[0]
        found = self._all(f"/pulls?head={quote(f'{owner}:{branch}', safe='')}&state=all"
                          "&per_page=100")
        return tuple(sorted(map(_pull, found), key=lambda pull: not pull.open))

    def open_pull(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        return _pull(entries(self.web.send("POST", self._at("/pulls"), {
            "head": branch, "base": base, "title": title, "body": body, "draft": draft}).json))

    def edit_pull(self, number: int, title: str, body: str) -> Pull:
        return _pull(entries(self.web.send("PATCH", self._at(f"/pulls/{number}"), {
            "title": title, "body": body}).json))

    def comments(self, thread: Thread) -> Iterator[str]:
        """Comments of a pull request are those of the issue of its number."""
        for item in self._all(f"/issues/{thread.number}/comments?per_page=100"):
            yield str(item.get("body") or "")

    def comment(self, thread: Thread, body: str) -> str:
        made = self.web.send("POST", self._at(f"/issues/{thread.number}/comments"), {"body": body})
        return str(entries(made.json).get("html_url", ""))

    def _at(self, path: str) -> str:
        return f"{self.api}/repos/{self.repo}{path}"

    def _all(self, path: str, key: str = "") -> list[JsonObject]:
        """Every item of a list that comes in pages."""
        found: list[JsonObject] = []
        address: str | None = self._at(path)
        for _ in range(_PAGES):
            if address is None:
                break
            answer = self.web.get(address)
            listed = entries(answer.json).get(key) if key else answer.json
            found += map(entries, members(listed))
            address = answer.next
        return found


def _run(item: JsonObject) -> Check:
    ended = item.get("status") == "completed"
    state = (_ENDS if ended else _STATES).get(
        str(item.get("conclusion") if ended else item.get("status")), State.ACTION_REQUIRED)
    app = OWN if _of_actions(item) else str(entries(item.get("app")).get("id", ""))
    return Check(str(item["name"]), state, str(item["head_sha"]), app,
                 str(item.get("started_at") or ""), f"{int(str(item['id'])):020d}",
                 str(item.get("html_url") or ""),
                 f"/actions/jobs/{item['id']}/logs" if _of_actions(item) else "")


def _of_actions(item: JsonObject) -> bool:
    return entries(item.get("app")).get("id") == _ACTIONS


def _status(item: JsonObject, commit: str) -> Check:
    return Check(str(item["context"]), _STATUSES.get(str(item["state"]), State.ACTION_REQUIRED),
                 commit, "", str(item.get("updated_at") or ""), f"{int(str(item['id'])):020d}",
                 str(item.get("target_url") or ""))


def _pull(item: JsonObject) -> Pull:
    return Pull(int(str(item["number"])), str(item["html_url"]), str(item.get("body") or ""),
                item.get("state") == "open", str(entries(item.get("head")).get("sha", "")))
