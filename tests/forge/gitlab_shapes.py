"""The forge's records in the shapes of GitLab's REST API."""

from dataclasses import dataclass
from datetime import datetime

from tests.forge.records import FINISHED, Comment, Issue, Job, Pipeline, Pull
from tests.forge.state import Forge
from tests.forge.wire import Json, Request

STATES = {"open": "opened", "closed": "closed"}


@dataclass(frozen=True, slots=True)
class Call:
    """A request for the project: `number` is what the route's placeholder stands for."""

    forge: Forge
    request: Request
    number: int

    @property
    def html(self) -> str:
        """The project's address in a browser."""
        return f"{self.request.origin}/{self.forge.repo}/-"


def project(call: Call) -> Json:
    """A project."""
    return {
        "id": call.forge.project_id,
        "path_with_namespace": call.forge.repo,
        "default_branch": call.forge.default_branch,
        "visibility": "private",
        "web_url": call.html.removesuffix("/-"),
    }


def pipeline(call: Call, pipeline: Pipeline) -> Json:
    """A pipeline."""
    return {
        "id": pipeline.id,
        "iid": pipeline.id - 1000,
        "project_id": call.forge.project_id,
        "sha": pipeline.sha,
        "ref": pipeline.ref,
        "status": pipeline.status,
        "source": pipeline.source,
        "created_at": _time(pipeline.created),
        "updated_at": _time(pipeline.updated),
        "web_url": f"{call.html}/pipelines/{pipeline.id}",
    }


def job(call: Call, of: Pipeline, job: Job) -> Json:
    """A job of a of."""
    ended = job.status in FINISHED
    keys = ("id", "project_id", "ref", "sha", "status")
    brief = {key: value for key, value in pipeline(call, of).items() if key in keys}
    return {
        "id": job.id,
        "name": job.name,
        "stage": job.stage,
        "status": job.status,
        "allow_failure": job.allow_failure,
        "failure_reason": "script_failure" if job.status == "failed" else None,
        "ref": of.ref,
        "tag": False,
        "created_at": _time(of.created),
        "started_at": _time(of.created),
        "finished_at": _time(of.updated) if ended else None,
        "duration": (of.updated - of.created).total_seconds() if ended else None,
        "commit": {"id": of.sha, "short_id": of.sha[:8]},
        "pipeline": brief,
        "user": _author(call),
        "web_url": f"{call.html}/jobs/{job.id}",
    }


def merge_request(call: Call, pull: Pull) -> Json:
    """A merge request."""
    return {
        **_topic_json(call, pull),
        "state": STATES[pull.state],
        "source_branch": pull.branch,
        "target_branch": pull.base,
        "source_project_id": call.forge.project_id,
        "target_project_id": call.forge.project_id,
        "sha": pull.sha,
        "merge_commit_sha": None,
        "draft": pull.draft,
        "detailed_merge_status": "draft_status" if pull.draft else "mergeable",
        "has_conflicts": False,
        "merged_at": None,
        "web_url": f"{call.html}/merge_requests/{pull.number}",
    }


def issue(call: Call, issue: Issue) -> Json:
    """An issue."""
    page = f"{call.html}/issues/{issue.number}"
    return {**_topic_json(call, issue), "state": "opened", "web_url": page}


def _topic_json(call: Call, topic: Issue | Pull) -> Json:
    return {
        "id": topic.id,
        "iid": topic.number,
        "project_id": call.forge.project_id,
        "title": topic.title,
        "description": topic.body,
        "author": _author(call),
        "labels": [],
        "created_at": _time(topic.created),
        "updated_at": _time(topic.updated),
        "user_notes_count": len(call.forge.comments_on(topic.number)),
    }


def note(call: Call, topic: Issue | Pull, note: Comment) -> Json:
    """A note: a comment on an issue or a merge request."""
    return {
        "id": note.id,
        "type": None,
        "body": note.body,
        "author": _author(call),
        "system": False,
        "internal": False,
        "resolvable": False,
        "noteable_id": topic.id,
        "noteable_iid": topic.number,
        "noteable_type": "MergeRequest" if isinstance(topic, Pull) else "Issue",
        "project_id": call.forge.project_id,
        "created_at": _time(note.created),
        "updated_at": _time(note.created),
    }


def _author(call: Call) -> Json:
    name = call.forge.user
    return {"id": 1, "username": name, "name": name, "state": "active"}


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z"
