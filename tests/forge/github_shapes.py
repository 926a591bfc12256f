"""The repository, its pulls and its issues in the shapes of GitHub's REST API."""

from dataclasses import dataclass
from datetime import datetime
from zlib import crc32

from tests.forge.records import Comment, Issue, Pull
from tests.forge.state import Forge
from tests.forge.wire import Json, Request


@dataclass(frozen=True, slots=True)
class Call:
    """A request for the repository: `arg` is what the route's placeholder stands for."""

    forge: Forge
    request: Request
    prefix: str
    arg: str

    @property
    def number(self) -> int:
        """The number in the path."""
        return int(self.arg)

    @property
    def api(self) -> str:
        """The repository's address in the API."""
        return f"{self.request.origin}{self.prefix}/repos/{self.forge.repo}"

    @property
    def html(self) -> str:
        """The repository's address in a browser."""
        return f"{self.request.origin}/{self.forge.repo}"


def repository(call: Call) -> Json:
    """A repository."""
    owner, _, name = call.forge.repo.partition("/")
    return {
        **ids(call.forge.project_id),
        "name": name,
        "full_name": call.forge.repo,
        "owner": _user(call, owner),
        "private": True,
        "visibility": "private",
        "description": None,
        "fork": False,
        "archived": False,
        "default_branch": call.forge.default_branch,
        "url": call.api,
        "html_url": call.html,
        "clone_url": f"{call.html}.git",
        "permissions": {"admin": False, "push": True, "pull": True},
    }


def commit(call: Call) -> Json:
    """A commit, of which only the name is known."""
    person = {"name": call.forge.user, "email": "bot@example.com", "date": "2026-01-01T00:00:00Z"}
    return {
        "sha": call.arg,
        "node_id": f"C_{call.arg}",
        "url": f"{call.api}/commits/{call.arg}",
        "html_url": f"{call.html}/commit/{call.arg}",
        "commit": {"author": person, "committer": person, "message": "a commit"},
        "parents": [],
    }


def pull(call: Call, pull: Pull) -> Json:
    """A pull request as it stands in a list."""
    closed = time(pull.updated) if pull.state == "closed" else None
    owner = call.forge.repo.partition("/")[0]
    base_sha = call.forge.sha_at(pull.base)
    url = f"{call.api}/pulls/{pull.number}"
    return {
        **_topic(call, pull),
        "url": url,
        "html_url": f"{call.html}/pull/{pull.number}",
        "issue_url": f"{call.api}/issues/{pull.number}",
        "commits_url": f"{url}/commits",
        "statuses_url": f"{call.api}/statuses/{pull.sha}",
        "state": pull.state,
        "draft": pull.draft,
        "closed_at": closed,
        "merged_at": None,
        "merge_commit_sha": None,
        "head": _end(call, pull.head, pull.sha),
        "base": _end(call, f"{owner}:{pull.base}", base_sha),
        "requested_reviewers": [],
        "auto_merge": None,
    }


def whole_pull(call: Call, one: Pull) -> Json:
    """A pull request by itself, which says more of merging than one in a list."""
    return {
        **pull(call, one),
        "merged": False,
        "mergeable": None,
        "mergeable_state": "unknown",
        "merged_by": None,
        "comments": len(call.forge.comments_on(one.number)),
        "maintainer_can_modify": False,
    }


def issue(call: Call, issue: Issue | Pull) -> Json:
    """An issue, which a pull is too: then it has `pull_request`."""
    state = issue.state if isinstance(issue, Pull) else "open"
    value = {
        **_topic(call, issue),
        "url": f"{call.api}/issues/{issue.number}",
        "repository_url": call.api,
        "html_url": f"{call.html}/issues/{issue.number}",
        "state": state,
        "state_reason": None,
        "closed_at": None,
        "comments": len(call.forge.comments_on(issue.number)),
    }
    if isinstance(issue, Pull):
        pages = {"html_url": f"{call.html}/pull/{issue.number}", "merged_at": None}
        value["html_url"] = pages["html_url"]
        value["pull_request"] = {"url": f"{call.api}/pulls/{issue.number}", **pages}
    return value


def comment(call: Call, comment: Comment) -> Json:
    """A comment on an issue or a pull."""
    return {
        **ids(comment.id),
        "body": comment.body,
        "user": _user(call, call.forge.user),
        "author_association": "COLLABORATOR",
        "created_at": time(comment.created),
        "updated_at": time(comment.created),
        "url": f"{call.api}/issues/comments/{comment.id}",
        "html_url": f"{call.html}/issues/{comment.number}#issuecomment-{comment.id}",
        "issue_url": f"{call.api}/issues/{comment.number}",
    }


def branch(call: Call) -> Json:
    """A branch."""
    sha = call.forge.sha_of(call.arg)
    return {
        "name": call.arg,
        "commit": {"sha": sha, "url": f"{call.api}/commits/{sha}"},
        "protected": call.arg in call.forge.required,
        "protection_url": f"{call.api}/branches/{call.arg}/protection",
    }


def required_checks(call: Call, required: dict[str, int | None]) -> Json:
    """What a protected branch waits for."""
    url = f"{call.api}/branches/{call.arg}/protection/required_status_checks"
    return {
        "url": url,
        "strict": False,
        "contexts": list(required),
        "contexts_url": f"{url}/contexts",
        "checks": [{"context": name, "app_id": app} for name, app in required.items()],
    }


def _topic(call: Call, topic: Issue | Pull) -> Json:
    return {
        **ids(topic.id),
        "number": topic.number,
        "title": topic.title,
        "body": topic.body or None,
        "user": _user(call, call.forge.user),
        "author_association": "COLLABORATOR",
        "labels": [],
        "assignees": [],
        "milestone": None,
        "locked": False,
        "created_at": time(topic.created),
        "updated_at": time(topic.updated),
        "comments_url": f"{call.api}/issues/{topic.number}/comments",
    }


def _end(call: Call, label: str, sha: str) -> Json:
    owner, _, ref = label.partition(":")
    return {
        "label": label,
        "ref": ref,
        "sha": sha,
        "user": _user(call, owner),
        "repo": repository(call),
    }


def _user(call: Call, login: str) -> Json:
    return {
        **ids(crc32(login.encode())),
        "login": login,
        "type": "User",
        "site_admin": False,
        "url": f"{call.request.origin}{call.prefix}/users/{login}",
        "html_url": f"{call.request.origin}/{login}",
    }


def ids(number: int) -> Json:
    """The two ids that everything has."""
    return {"id": number, "node_id": f"N_{number}"}


def time(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
