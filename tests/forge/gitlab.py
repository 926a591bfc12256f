"""The forge as GitLab's REST API answers for it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import unquote

from tests.forge import gitlab_shapes as shapes
from tests.forge.gitlab_shapes import Call
from tests.forge.records import Issue, Pipeline, Pull
from tests.forge.state import Forge
from tests.forge.wire import Json, Reply, Request, find, json_reply, page_of, text_reply

T = TypeVar("T")

_EVENTS = {"close": "closed", "reopen": "open"}


def gitlab(forge: Forge, request: Request) -> Reply:
    """What GitLab answers."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    if forge.token not in (request.headers.get("private-token"), bearer):
        return _refusal(401, "401 Unauthorized")
    place = re.fullmatch(r".*?/api/v4/projects/([^/]+)(/.*)?", request.path)
    if not place or unquote(place[1]) not in (str(forge.project_id), forge.repo):
        return _refusal(404, "404 Project Not Found")
    found = find(_ROUTES, request.method, place[2] or "/")
    if found is None:
        return json_reply(404, {"error": "404 Not Found"})
    handler, arg = found
    return handler(Call(forge, request, int(arg or 0)))


def _project(call: Call) -> Reply:
    return json_reply(200, shapes.project(call))


def _pipelines(call: Call) -> Reply:
    query = call.request.query
    found = [
        pipeline
        for pipeline in call.forge.pipelines(query.get("sha", ""))
        if query.get("ref", pipeline.ref) == pipeline.ref
        and query.get("status", pipeline.status) == pipeline.status
    ]
    return _listed(call, shapes.pipeline, found)


def _pipeline(call: Call) -> Reply:
    found = _pipeline_of(call)
    return json_reply(200, shapes.pipeline(call, found)) if found else _not_found()


def _jobs(call: Call) -> Reply:
    pipeline = _pipeline_of(call)
    if pipeline is None:
        return _not_found()
    newest = sorted(pipeline.jobs, key=lambda job: job.id, reverse=True)
    return _listed(call, lambda call, job: shapes.job(call, pipeline, job), newest)


def _trace(call: Call) -> Reply:
    jobs = (job for pipeline in call.forge.pipelines() for job in pipeline.jobs)
    job = next((job for job in jobs if job.id == call.number), None)
    return text_reply(200, job.log) if job else _not_found()


def _merge_requests(call: Call) -> Reply:
    query = call.request.query
    found = [
        pull
        for pull in reversed(call.forge.pulls)
        if query.get("state", "all") in ("all", shapes.STATES[pull.state])
        and query.get("source_branch", pull.branch) == pull.branch
        and query.get("target_branch", pull.base) == pull.base
    ]
    return _listed(call, shapes.merge_request, found)


def _create_merge_request(call: Call) -> Reply:
    sent = call.request.json
    needed = ("title", "source_branch", "target_branch")
    missing = [f"{name} is missing" for name in needed if not sent.get(name)]
    if missing:
        return json_reply(400, {"error": ", ".join(missing)})
    title, branch, base = (str(sent[name]) for name in needed)
    head = f"{call.forge.repo.partition('/')[0]}:{branch}"
    other = call.forge.open_pull_of(head, base)
    if other:
        says = f"Another open merge request already exists for this source branch: !{other.number}"
        return json_reply(409, {"message": [says]})
    body = sent.get("description") or ""
    try:
        pull = call.forge.open_pull(title, body, head, base, draft=_is_draft(title))
    except KeyError:
        return json_reply(400, {"message": {"source_branch": ["does not exist"]}})
    return json_reply(201, shapes.merge_request(call, pull))


def _merge_request(call: Call) -> Reply:
    pull = call.forge.find_pull(call.number)
    return json_reply(200, shapes.merge_request(call, pull)) if pull else _not_found()


def _edit_merge_request(call: Call) -> Reply:
    pull, sent = call.forge.find_pull(call.number), call.request.json
    if pull is None:
        return _not_found()
    names = {"title": "title", "description": "body", "target_branch": "base"}
    changes = {names[name]: sent[name] or "" for name in names if name in sent}
    changes["state"] = _EVENTS.get(sent.get("state_event", ""), pull.state)
    changes["draft"] = _is_draft(changes.get("title", pull.title))
    return json_reply(200, shapes.merge_request(call, call.forge.edit_pull(pull, changes)))


def _issue(call: Call) -> Reply:
    issue = call.forge.find_issue(call.number)
    return json_reply(200, shapes.issue(call, issue)) if issue else _not_found()


def _notes(call: Call) -> Reply:
    topic = _topic(call)
    if topic is None:
        return _not_found()
    notes = call.forge.comments_on(call.number)
    ordered = notes if call.request.query.get("sort") == "asc" else notes[::-1]
    return _listed(call, lambda call, note: shapes.note(call, topic, note), ordered)


def _create_note(call: Call) -> Reply:
    topic, body = _topic(call), call.request.json.get("body")
    if topic is None:
        return _not_found()
    if not body:
        return json_reply(400, {"error": "body is missing"})
    note = call.forge.add_comment(call.number, body)
    return json_reply(201, shapes.note(call, topic, note))


_ROUTES: Mapping[str, Callable[[Call], Reply]] = {
    "GET /": _project,
    "GET /pipelines": _pipelines,
    "GET /pipelines/{n}": _pipeline,
    "GET /pipelines/{n}/jobs": _jobs,
    "GET /jobs/{n}/trace": _trace,
    "GET /merge_requests": _merge_requests,
    "POST /merge_requests": _create_merge_request,
    "GET /merge_requests/{n}": _merge_request,
    "PUT /merge_requests/{n}": _edit_merge_request,
    "GET /issues/{n}": _issue,
    "GET /merge_requests/{n}/notes": _notes,
    "POST /merge_requests/{n}/notes": _create_note,
    "GET /issues/{n}/notes": _notes,
    "POST /issues/{n}/notes": _create_note,
}


def _pipeline_of(call: Call) -> Pipeline | None:
    return next((each for each in call.forge.pipelines() if each.id == call.number), None)


def _topic(call: Call) -> Issue | Pull | None:
    of_a_pull = "/merge_requests/" in call.request.path
    return call.forge.find_pull(call.number) if of_a_pull else call.forge.find_issue(call.number)


def _listed(call: Call, shape: Callable[[Call, T], Json], values: Sequence[T]) -> Reply:
    page = page_of(call.request, values, 20)
    following = page.number + 1 if page.number < page.last else ""
    headers = {
        "x-page": page.number,
        "x-per-page": page.size,
        "x-next-page": following,
        "x-prev-page": page.number - 1 or "",
        "x-total": page.total,
        "x-total-pages": page.last,
        "link": page.link(call.request, call.request.path, ends=True),
    }
    named = {name: str(value) for name, value in headers.items()}
    return json_reply(200, [shape(call, each) for each in page.items], named)


def _is_draft(title: str) -> bool:
    return title.lower().startswith("draft:")


def _not_found() -> Reply:
    return _refusal(404, "404 Not found")


def _refusal(status: int, message: str) -> Reply:
    return json_reply(status, {"message": message})
