"""Check runs, statuses, workflow runs and jobs in the shapes of GitHub's REST API."""

from collections.abc import Iterable
from zlib import crc32

from tests.forge.github_shapes import Call, ids, repository, time
from tests.forge.records import ACTIONS, Check, Status, Suite
from tests.forge.wire import Json

_APPS = {ACTIONS: ("github-actions", "GitHub Actions")}
_WORST_FIRST = ("failure", "timed_out", "cancelled", "action_required", "success", "neutral")


def check_run(call: Call, check: Check) -> Json:
    """A check run. The address of one of GitHub Actions names its run and its job."""
    suite = check.suite
    slug, name = _APPS.get(suite.app, (f"app-{suite.app}", f"App {suite.app}"))
    page = f"{call.html}/runs/{check.id}"
    if suite.app == ACTIONS:
        page = f"{call.html}/actions/runs/{suite.run}/job/{check.id}"
    url = f"{call.api}/check-runs/{check.id}"
    texts = {"title": None, "summary": None, "text": None}
    return {
        **ids(check.id),
        "name": check.name,
        "head_sha": suite.sha,
        "external_id": "",
        "url": url,
        "html_url": page,
        "details_url": page,
        **_progress(check),
        "output": {**texts, "annotations_count": 0, "annotations_url": f"{url}/annotations"},
        "check_suite": {"id": suite.id},
        "app": {**ids(suite.app), "slug": slug, "name": name},
        "pull_requests": [],
    }


def combined_status(call: Call, every: list[Status], shown: list[Status]) -> Json:
    """The combined status of a commit: pending when there is none, for ever."""
    url = f"{call.api}/commits/{call.arg}"
    return {
        "state": _combined({status.state for status in every}),
        "statuses": [_status(call, status) for status in shown],
        "sha": call.arg,
        "total_count": len(every),
        "repository": repository(call),
        "commit_url": url,
        "url": f"{url}/status",
    }


def workflow_run(call: Call, run: Suite) -> Json:
    """A workflow run: the checks that GitHub Actions makes of one workflow."""
    checks = call.forge.latest_checks(run)
    status = _run_status({check.status for check in checks})
    url = f"{call.api}/actions/runs/{run.run}"
    return {
        **ids(run.run),
        "name": run.workflow,
        "path": f".github/workflows/{run.workflow.lower()}.yml",
        "head_sha": run.sha,
        "head_branch": call.forge.default_branch,
        "event": "push",
        "status": status,
        "conclusion": _run_conclusion(checks) if status == "completed" else None,
        "run_number": 1,
        "run_attempt": max(check.attempt for check in checks),
        "workflow_id": crc32(run.workflow.encode()),
        "check_suite_id": run.id,
        "created_at": time(min(check.started for check in call.forge.checks(run))),
        "run_started_at": time(min(check.started for check in checks)),
        "updated_at": time(max(check.completed or check.started for check in checks)),
        "url": url,
        "html_url": f"{call.html}/actions/runs/{run.run}",
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "pull_requests": [],
    }


def job(call: Call, check: Check) -> Json:
    """A job of a workflow run; its id is that of its check run."""
    run, page = check.suite, f"{call.html}/actions/runs/{check.suite.run}"
    return {
        **ids(check.id),
        "run_id": run.run,
        "run_url": f"{call.api}/actions/runs/{run.run}",
        "run_attempt": check.attempt,
        "workflow_name": run.workflow,
        "name": check.name,
        "head_sha": run.sha,
        "head_branch": call.forge.default_branch,
        **_progress(check),
        "created_at": time(check.started),
        "steps": [],
        "labels": ["ubuntu-latest"],
        "url": f"{call.api}/actions/jobs/{check.id}",
        "html_url": f"{page}/job/{check.id}",
        "check_run_url": f"{call.api}/check-runs/{check.id}",
    }


def _status(call: Call, status: Status) -> Json:
    return {
        **ids(status.id),
        "context": status.context,
        "state": status.state,
        "description": f"{status.context}: {status.state}",
        "target_url": f"{call.html}/status/{status.id}",
        "url": f"{call.api}/statuses/{status.sha}",
        "created_at": time(status.updated),
        "updated_at": time(status.updated),
    }


def _progress(check: Check) -> Json:
    return {
        "status": check.status,
        "conclusion": check.conclusion,
        "started_at": time(check.started),
        "completed_at": time(check.completed) if check.completed else None,
    }


def _combined(states: set[str]) -> str:
    if states & {"error", "failure"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


def _run_status(statuses: set[str]) -> str:
    return statuses.pop() if len(statuses) == 1 else "in_progress"


def _run_conclusion(checks: Iterable[Check]) -> str:
    reached = {check.conclusion for check in checks}
    return next((each for each in _WORST_FIRST if each in reached), "skipped")
