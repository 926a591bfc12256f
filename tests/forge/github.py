"""The forge as GitHub's REST API answers for it.

Three traps are GitHub's own, and kept: a `head` without its owner filters no pulls, the links from
page to page name the repository by its number, and a job's log is at another host, which refuses a
request that still has the token.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import tests.forge.github_shapes as shapes
from tests.forge import github_ci as ci
from tests.forge.github_shapes import Call
from tests.forge.records import ACTIONS, Check, Issue, Pull, Suite
from tests.forge.state import Forge
from tests.forge.wire import Json, Page, Reply, Request, find, json_reply, page_of, text_reply

T = TypeVar("T")

_BLOBS = "/_blobs/job-logs/"
_EDITABLE = ("title", "body", "state", "base")


def github(forge: Forge, request: Request) -> Reply:
    """What GitHub answers."""
    if request.path.startswith(_BLOBS):
        return _blob(forge, request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if not token:
        return _refusal(401, "Requires authentication")
    if scheme.lower() not in ("bearer", "token") or token != forge.token:
        return _refusal(401, "Bad credentials")
    names = f"repos/{re.escape(forge.repo)}|repositories/{forge.project_id}"
    place = re.fullmatch(f"(.*?)/(?:{names})(/.*)?", request.path)
    found = find(_ROUTES, request.method, place[2] or "/") if place else None
    if not place or not found:
        return _not_found()
    handler, arg = found
    return handler(Call(forge, request, place[1], arg))


def _repository(call: Call) -> Reply:
    return json_reply(200, shapes.repository(call))


def _commit(call: Call) -> Reply:
    return json_reply(200, shapes.commit(call))


def _check_runs(call: Call) -> Reply:
    query = call.request.query
    found = [
        check
        for suite in call.forge.suites(call.arg)
        for check in _checks(call, suite)
        if query.get("check_name", check.name) == check.name
        and query.get("status", check.status) == check.status
    ]
    return _counted(call, "check_runs", ci.check_run, found)


def _combined_status(call: Call) -> Reply:
    every = call.forge.statuses(call.arg)
    page = page_of(call.request, every, 30)
    return json_reply(200, ci.combined_status(call, every, page.items), _link(call, page))


def _runs(call: Call) -> Reply:
    suites = call.forge.suites(call.request.query.get("head_sha", ""))
    runs = [suite for suite in suites if suite.app == ACTIONS]
    return _counted(call, "workflow_runs", ci.workflow_run, runs)


def _run(call: Call) -> Reply:
    return _one(call, ci.workflow_run, _run_of(call))


def _jobs(call: Call) -> Reply:
    run = _run_of(call)
    return _counted(call, "jobs", ci.job, _checks(call, run)) if run else _not_found()


def _job(call: Call) -> Reply:
    return _one(call, ci.job, _job_of(call.forge, call.number))


def _job_logs(call: Call) -> Reply:
    job = _job_of(call.forge, call.number)
    if job is None or not job.completed:
        return _not_found()
    # The same server by another name: a client that minds hosts takes its token off here.
    host = call.request.origin.replace("127.0.0.1", "localhost")
    return Reply(302, headers={"location": f"{host}{_BLOBS}{job.id}"})


def _blob(forge: Forge, request: Request) -> Reply:
    job = _job_of(forge, int(request.path.removeprefix(_BLOBS)))
    if "authorization" in request.headers or job is None:
        refusal = b'<?xml version="1.0"?><Error><Code>AuthenticationFailed</Code></Error>'
        return Reply(403, refusal, {"content-type": "application/xml"})
    stamp = f"{job.started:%Y-%m-%dT%H:%M:%S}.0000000Z"
    lines = "".join(f"{stamp} {line}\n" for line in job.log.splitlines())
    return text_reply(200, "\ufeff" + lines)  # the runner's byte order mark


def _pulls(call: Call) -> Reply:
    query = call.request.query
    state, head, base = query.get("state", "open"), query.get("head", ""), query.get("base")
    found = [
        pull
        for pull in reversed(call.forge.pulls)
        if state in ("all", pull.state)
        and (":" not in head or pull.head == head)
        and base in (None, pull.base)
    ]
    return _bare(call, shapes.pull, found)


def _create_pull(call: Call) -> Reply:
    sent = call.request.json
    for name in ("head", "base"):
        if not sent.get(name):
            return _refusal(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
    if not sent.get("title"):
        return _invalid("PullRequest", "missing_field", field="title")
    owner = call.forge.repo.partition("/")[0]
    head = sent["head"] if ":" in sent["head"] else f"{owner}:{sent['head']}"
    if call.forge.open_pull_of(head, sent["base"]):
        exists = f"A pull request already exists for {head}."
        return _invalid("PullRequest", "custom", message=exists)
    body, draft = sent.get("body") or "", bool(sent.get("draft"))
    try:
        pull = call.forge.open_pull(sent["title"], body, head, sent["base"], draft)
    except KeyError:
        return _invalid("PullRequest", "invalid", field="head")
    return json_reply(201, shapes.whole_pull(call, pull))


def _pull(call: Call) -> Reply:
    return _one(call, shapes.whole_pull, call.forge.find_pull(call.number))


def _edit_pull(call: Call) -> Reply:
    pull, sent = call.forge.find_pull(call.number), call.request.json
    changes = {name: sent[name] or "" for name in _EDITABLE if name in sent}
    return _one(call, shapes.whole_pull, pull and call.forge.edit_pull(pull, changes))


def _issue(call: Call) -> Reply:
    topic = _topic(call)
    return json_reply(200, shapes.issue(call, topic)) if topic else _not_found()


def _comments(call: Call) -> Reply:
    comments = call.forge.comments_on(call.number)
    return _bare(call, shapes.comment, comments) if _topic(call) else _not_found()


def _create_comment(call: Call) -> Reply:
    body = call.request.json.get("body")
    if not _topic(call):
        return _not_found()
    if not body:
        return _invalid("IssueComment", "missing_field", field="body")
    return json_reply(201, shapes.comment(call, call.forge.add_comment(call.number, body)))


def _branch(call: Call) -> Reply:
    try:
        return json_reply(200, shapes.branch(call))
    except KeyError:
        return _refusal(404, "Branch not found")


def _required_checks(call: Call) -> Reply:
    required = call.forge.required.get(call.arg)
    if required is None:
        return _refusal(404, "Branch not protected")
    return json_reply(200, shapes.required_checks(call, required))


# The first that matches answers, so the longer of two that begin alike comes first.
_ROUTES: Mapping[str, Callable[[Call], Reply]] = {
    "GET /": _repository,
    "GET /commits/{ref}/check-runs": _check_runs,
    "GET /commits/{ref}/status": _combined_status,
    "GET /commits/{ref}": _commit,
    "GET /actions/runs": _runs,
    "GET /actions/runs/{n}": _run,
    "GET /actions/runs/{n}/jobs": _jobs,
    "GET /actions/jobs/{n}": _job,
    "GET /actions/jobs/{n}/logs": _job_logs,
    "GET /pulls": _pulls,
    "POST /pulls": _create_pull,
    "GET /pulls/{n}": _pull,
    "PATCH /pulls/{n}": _edit_pull,
    "GET /issues/{n}": _issue,
    "GET /issues/{n}/comments": _comments,
    "POST /issues/{n}/comments": _create_comment,
    "GET /branches/{ref}/protection/required_status_checks": _required_checks,
    "GET /branches/{ref}": _branch,
}


def _checks(call: Call, suite: Suite) -> list[Check]:
    every = call.request.query.get("filter") == "all"
    return call.forge.checks(suite) if every else call.forge.latest_checks(suite)


def _run_of(call: Call) -> Suite | None:
    runs = (suite for suite in call.forge.suites() if suite.app == ACTIONS)
    return next((run for run in runs if run.run == call.number), None)


def _job_of(forge: Forge, number: int) -> Check | None:
    runs = (suite for suite in forge.suites() if suite.app == ACTIONS)
    jobs = (check for run in runs for check in forge.checks(run))
    return next((job for job in jobs if job.id == number), None)


def _topic(call: Call) -> Issue | Pull | None:
    return call.forge.find_issue(call.number) or call.forge.find_pull(call.number)


def _one(call: Call, shape: Callable[[Call, T], Json], value: T | None) -> Reply:
    return _not_found() if value is None else json_reply(200, shape(call, value))


def _bare(call: Call, shape: Callable[[Call, T], Json], values: Sequence[T]) -> Reply:
    page = page_of(call.request, values, 30)
    return json_reply(200, [shape(call, each) for each in page.items], _link(call, page))


def _counted(call: Call, name: str, shape: Callable[[Call, T], Json], values: Sequence[T]) -> Reply:
    page = page_of(call.request, values, 30)
    shown = [shape(call, each) for each in page.items]
    return json_reply(200, {"total_count": page.total, name: shown}, _link(call, page))


def _link(call: Call, page: Page[T]) -> dict[str, str]:
    named, numbered = f"/repos/{call.forge.repo}/", f"/repositories/{call.forge.project_id}/"
    link = page.link(call.request, call.request.path.replace(named, numbered, 1))
    return {"link": link} if link else {}


def _not_found() -> Reply:
    return _refusal(404, "Not Found")


def _refusal(status: int, message: str) -> Reply:
    docs = "https://docs.github.com/rest"
    value = {"message": message, "documentation_url": docs, "status": str(status)}
    return json_reply(status, value)


def _invalid(resource: str, code: str, **details: str) -> Reply:
    value = {
        "message": "Validation Failed",
        "errors": [{"resource": resource, "code": code, **details}],
        "documentation_url": "https://docs.github.com/rest",
        "status": "422",
    }
    return json_reply(422, value)
