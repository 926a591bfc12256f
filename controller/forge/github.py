"""GitHub's REST API (docs.github.com/rest, version 2022-11-28), or what speaks it."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from controller.core.canonical import JsonObject, entries, members
from controller.core.delivery import Issue, Pull, Thread
from controller.core.hosted import OWN, Check, State
from controller.web import Unreachable, Web, line_of, text_of

API = "https://api.github.com"

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
        statuses = self._all(f"/commits/{commit}/status?per_page=100", "statuses")
        return (*map(_run, runs), *(_status(item, commit) for item in statuses))

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
            if why.status in (403, 404):
                return () if why.status == 404 else ("(this token may not see them)",)
            raise
        return tuple(sorted(f"{line_of(item, 'context')} (app {line_of(item, 'app_id')})"
                            for item in map(entries, members(found.get("checks")))))

    def issue(self, number: int) -> Issue:
        found = entries(self.web.get(self._at(f"/issues/{number}")).json)
        return Issue(text_of(found, "html_url"), text_of(found, "title"),
                     str(found.get("body") or ""), text_of(found, "state"))

    def pulls(self, branch: str) -> tuple[Pull, ...]:
        owner = self.repo.split("/")[0]
        found = self._all(f"/pulls?head={quote(f'{owner}:{branch}', safe='')}&state=all"
                          "&per_page=100")
        return tuple(sorted(map(_pull, found), key=lambda pull: not pull.open))

    def open_pull(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        return _pull(entries(self.web.send("POST", self._at("/pulls"), {
            "head": branch, "base": base, "title": title, "body": body, "draft": draft}).json))

    def edit_pull(self, number: int, title: str, body: str, *, draft: bool) -> Pull:
        """Whether it is a draft stays: GitHub's REST API can't change that."""
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
        """Every item of a list, all pages of it."""
        return [entries(item) for page in self.web.pages(self._at(path))
                for item in members(entries(page).get(key) if key else page)]


def _run(item: JsonObject) -> Check:
    ended = item.get("status") == "completed"
    state = (_ENDS if ended else _STATES).get(
        str(item.get("conclusion") if ended else item.get("status")), State.ACTION_REQUIRED)
    app = OWN if _of_actions(item) else str(entries(item.get("app")).get("id", ""))
    return Check(text_of(item, "name"), state, text_of(item, "head_sha"), app,
                 text_of(item, "id").zfill(20), str(entries(item.get("check_suite")).get("id", "")),
                 line_of(item, "html_url"),
                 f"/actions/jobs/{item['id']}/logs" if _of_actions(item) else "")


def _of_actions(item: JsonObject) -> bool:
    return entries(item.get("app")).get("id") == _ACTIONS


def _status(item: JsonObject, commit: str) -> Check:
    return Check(text_of(item, "context"), _STATUSES.get(text_of(item, "state"),
                                                         State.ACTION_REQUIRED),
                 commit, "", text_of(item, "id").zfill(20), "", line_of(item, "target_url"))


def _pull(item: JsonObject) -> Pull:
    return Pull(int(text_of(item, "number")), text_of(item, "html_url"),
                str(item.get("body") or ""), item.get("state") == "open",
                line_of(entries(item.get("head")), "sha"))
