"""The stand-in forge, spoken to with the public client libraries."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.forge.server import (
    Forge,
    Job,
    lost_write,
    rate_limited,
    reset,
    server_error,
    serving,
    slow_down,
)

if TYPE_CHECKING:
    from github.Repository import Repository
    from gitlab.v4.objects import Project

github = pytest.importorskip("github")
gitlab = pytest.importorskip("gitlab")
requests = pytest.importorskip("requests")

SHA = "a" * 40


@pytest.fixture
def forge() -> Forge:
    return Forge()


@pytest.fixture
def address(forge: Forge) -> Iterator[str]:
    with serving(forge) as address:
        yield address


@pytest.fixture(params=["", "/api/v3"], ids=["github.com", "enterprise"])
def repo(forge: Forge, address: str, request: pytest.FixtureRequest) -> "Iterator[Repository]":
    client = github.Github(
        base_url=f"{address}{request.param}",
        auth=github.Auth.Token(forge.token),
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )
    with client:
        yield client.get_repo(forge.repo)


@pytest.fixture
def project(forge: Forge, address: str) -> "Iterator[Project]":
    with gitlab.Gitlab(address, private_token=forge.token) as client:
        yield client.projects.get(forge.repo)


def test_github_lists_check_runs_over_several_pages(forge: Forge, repo: "Repository") -> None:
    for number in range(35):
        forge.check(SHA, f"test {number}", "completed", "success")
    forge.check(SHA, "lint", "in_progress", app=7)

    checks = repo.get_commit(SHA).get_check_runs()
    found = list(checks)

    assert checks.totalCount == len(found) == len({check.id for check in found}) == 36
    lint = next(check for check in found if check.name == "lint")
    assert (lint.app.id, lint.app.slug, lint.head_sha) == (7, "app-7", SHA)
    assert not lint.conclusion
    assert lint.completed_at is None
    assert lint.output.annotations_count == 0
    assert {check.check_suite.id for check in found} == {each.id for each in forge.suites(SHA)}


def test_github_shows_a_check_that_goes_on_as_one_and_one_run_again_as_another(
    forge: Forge, repo: "Repository"
) -> None:
    queued = forge.check(SHA, "tests", "queued")
    failed = forge.check(SHA, "tests", "completed", "failure")
    passed = forge.check(SHA, "tests", "completed", "success")

    commit = repo.get_commit(SHA)
    latest = list(commit.get_check_runs(filter="latest"))
    every = list(commit.get_check_runs(filter="all"))

    assert queued.id == failed.id
    assert [(check.id, check.conclusion) for check in latest] == [(passed.id, "success")]
    assert [check.id for check in every] == [passed.id, failed.id]
    assert every[0].started_at > every[1].started_at
    assert [run.run_attempt for run in repo.get_workflow_runs(head_sha=SHA)] == [2]


def test_github_knows_no_check_of_a_commit_that_none_was_reported_for(repo: "Repository") -> None:
    commit = repo.get_commit("b" * 40)

    assert commit.get_check_runs().totalCount == 0
    assert commit.get_combined_status().state == "pending"
    assert repo.get_workflow_runs(head_sha="b" * 40).totalCount == 0


@pytest.mark.parametrize(
    ("states", "combined"),
    [
        (["success", "success"], "success"),
        (["success", "pending"], "pending"),
        (["error", "pending"], "failure"),
    ],
)
def test_github_combines_the_newest_status_of_each_context(
    forge: Forge, repo: "Repository", states: list[str], combined: str
) -> None:
    forge.status(SHA, "ci/0", "failure")
    for number, state in enumerate(states):
        forge.status(SHA, f"ci/{number}", state)

    said = repo.get_commit(SHA).get_combined_status()

    assert (said.state, said.total_count) == (combined, 2)
    assert {each.context: each.state for each in said.statuses} == {
        f"ci/{number}": state for number, state in enumerate(states)
    }
    assert said.statuses[0].target_url
    assert said.statuses[0].updated_at.year == 2026


def test_github_lists_workflow_runs_with_their_jobs(forge: Forge, repo: "Repository") -> None:
    failed = forge.check(SHA, "tests", "completed", "failure")
    forge.check(SHA, "lint", "completed", "success")
    forge.check(SHA, "page", "in_progress", workflow="Docs")
    forge.check(SHA, "cla", "completed", "success", app=7)

    runs = {run.name: run for run in repo.get_workflow_runs(head_sha=SHA)}

    assert runs.keys() == {"CI", "Docs"}
    assert (runs["CI"].status, runs["CI"].conclusion) == ("completed", "failure")
    assert runs["Docs"].status == "in_progress"
    assert not runs["Docs"].conclusion
    assert (runs["CI"].event, runs["CI"].path) == ("push", ".github/workflows/ci.yml")
    assert runs["CI"].check_suite_id == failed.suite.id
    assert runs["CI"].workflow_id != runs["Docs"].workflow_id
    jobs = {job.name: job for job in runs["CI"].jobs("latest")}
    assert (jobs["tests"].id, jobs["tests"].conclusion) == (failed.id, "failure")
    assert repo.get_workflow_run(runs["CI"].id).html_url == runs["CI"].html_url
    assert repo.get_workflow_job(failed.id).run_id == runs["CI"].id


def test_github_redirects_to_a_log_that_refuses_the_token(forge: Forge, repo: "Repository") -> None:
    job = forge.check(SHA, "tests", "completed", "failure", log="one\nboom")
    url = repo.get_workflow_job(job.id).logs_url()

    text = requests.get(url, timeout=5).content.decode("utf-8")
    refused = requests.get(url, headers={"Authorization": f"Bearer {forge.token}"}, timeout=5)

    assert text.startswith("\ufeff2026-")
    assert [line.split(" ", 1)[1] for line in text.splitlines()] == ["one", "boom"]
    assert refused.status_code == 403


def test_a_client_that_minds_hosts_gets_the_log_through_the_redirect(
    forge: Forge, address: str
) -> None:
    job = forge.check(SHA, "tests", "completed", "failure", log="boom")
    url = f"{address}/repos/{forge.repo}/actions/jobs/{job.id}/logs"
    headers = {"Authorization": f"Bearer {forge.token}"}

    assert requests.get(url, headers=headers, timeout=5).text.endswith("boom\n")
    with pytest.raises(urllib.error.HTTPError) as refusal:  # urllib takes every header along
        urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5)
    refusal.value.close()


def test_github_has_no_log_of_a_job_that_runs_or_of_a_check_that_is_no_job(
    forge: Forge, repo: "Repository"
) -> None:
    running = forge.check(SHA, "tests", "in_progress")
    foreign = forge.check(SHA, "cla", "completed", "success", app=7)

    with pytest.raises(github.UnknownObjectException):
        repo.get_workflow_job(running.id).logs_url()
    with pytest.raises(github.UnknownObjectException):
        repo.get_workflow_job(foreign.id).complete()


def test_github_creates_finds_and_edits_a_pull(forge: Forge, repo: "Repository") -> None:
    forge.sha_of = {"topic/one": SHA, "main": "b" * 40}.__getitem__
    made = repo.create_pull("main", "topic/one", title="One", body="why", draft=True)

    (found,) = repo.get_pulls(head="octo:topic/one", base="main", state="all")
    found.edit(title="Two", body="because", state="closed")

    assert made.number == found.number == 1
    assert (made.draft, made.head.ref, made.head.sha) == (True, "topic/one", SHA)
    assert (made.head.label, made.base.sha) == ("octo:topic/one", "b" * 40)
    assert not made.mergeable
    assert [(pull.title, pull.body, pull.state) for pull in forge.pulls] == [
        ("Two", "because", "closed")
    ]
    assert repo.get_pulls().totalCount == 0
    assert repo.get_pull(1).merged is False


def test_github_refuses_a_second_pull_between_two_branches(
    forge: Forge, repo: "Repository"
) -> None:
    repo.create_pull("main", "topic", title="One")

    with pytest.raises(github.GithubException) as refusal:
        repo.create_pull("main", "octo:topic", title="Two")
    repo.create_pull("stable", "topic", title="Three")

    assert refusal.value.status == 422
    assert refusal.value.data["message"] == "Validation Failed"
    assert refusal.value.data["errors"] == [
        {
            "resource": "PullRequest",
            "code": "custom",
            "message": "A pull request already exists for octo:topic.",
        }
    ]
    assert [pull.base for pull in forge.pulls] == ["main", "stable"]


def test_github_refuses_a_pull_of_a_branch_that_is_not_there(
    forge: Forge, repo: "Repository"
) -> None:
    forge.sha_of = {"main": SHA}.__getitem__

    with pytest.raises(github.GithubException) as refusal:
        repo.create_pull("main", "nowhere", title="One")

    assert refusal.value.data["errors"][0]["field"] == "head"
    assert forge.pulls == []


def test_the_head_of_a_pull_goes_where_its_branch_goes(forge: Forge, repo: "Repository") -> None:
    branches = {"topic": "a" * 40}
    forge.sha_of = branches.__getitem__
    pull = repo.create_pull("main", "topic", title="One")
    branches["topic"] = "c" * 40

    assert repo.get_pull(pull.number).head.sha == forge.pulls[0].sha == "c" * 40
    del branches["topic"]
    assert repo.get_pull(pull.number).head.sha == "a" * 40


def test_github_takes_a_head_without_its_owner_for_no_filter(repo: "Repository") -> None:
    repo.create_pull("main", "one", title="One")
    repo.create_pull("main", "two", title="Two")

    assert [pull.title for pull in repo.get_pulls(head="one")] == ["Two", "One"]
    assert [pull.title for pull in repo.get_pulls(head="octo:one")] == ["One"]


def test_github_creates_and_lists_comments_on_issues_and_pulls(
    forge: Forge, repo: "Repository"
) -> None:
    forge.issue(7, "It breaks", "badly")
    issue = repo.get_issue(7)
    pull = repo.create_pull("main", "topic", title="One")
    made = [issue.create_comment(f"comment {number}").id for number in range(31)]
    pull.create_issue_comment("on the pull")

    assert (issue.title, issue.body, issue.state) == ("It breaks", "badly", "open")
    assert [comment.id for comment in issue.get_comments()] == made
    assert [comment.body for comment in pull.get_issue_comments()] == ["on the pull"]
    assert pull.number == 8
    assert pull.as_issue().pull_request is not None
    assert [comment.number for comment in forge.comments] == [7] * 31 + [8]


def test_github_says_what_a_protected_branch_waits_for(forge: Forge, repo: "Repository") -> None:
    forge.required["release/1"] = {"tests": 15368, "cla": None}

    branch = repo.get_branch("release/1")
    required = branch.get_required_status_checks()

    assert branch.protected
    assert required.contexts == ["tests", "cla"]
    assert [(check.context, check.app_id) for check in required.checks] == [
        ("tests", 15368),
        ("cla", None),
    ]
    with pytest.raises(github.GithubException, match="Branch not protected"):
        repo.get_branch("main").get_required_status_checks()


def test_github_turns_a_wrong_token_away(forge: Forge, address: str) -> None:
    with (
        github.Github(base_url=address, auth=github.Auth.Token("wrong"), retry=None) as client,
        pytest.raises(github.BadCredentialsException),
    ):
        client.get_repo(forge.repo)
    with (
        github.Github(base_url=address, retry=None) as client,
        pytest.raises(github.GithubException, match="Requires authentication"),
    ):
        client.get_repo(forge.repo)


def test_gitlab_lists_pipelines_with_their_jobs_and_traces(
    forge: Forge, project: "Project"
) -> None:
    running = forge.pipeline(SHA, "running", [Job("tests", "running")])
    jobs = [Job("tests", "failed", log="boom"), Job("lint", "failed", allow_failure=True)]
    ended = forge.pipeline(SHA, "failed", jobs)
    forge.pipeline("b" * 40, "success")

    (found,) = project.pipelines.list(sha=SHA, get_all=True)
    listed = {job.name: job for job in found.jobs.list(get_all=True)}

    assert running.id == ended.id == found.id
    assert (found.status, found.source, found.ref) == ("failed", "push", "main")
    assert listed["tests"].id == running.jobs[0].id
    assert (listed["tests"].status, listed["tests"].stage) == ("failed", "test")
    assert listed["lint"].allow_failure
    assert project.jobs.get(listed["tests"].id, lazy=True).trace() == b"boom"
    assert project.pipelines.get(found.id).sha == SHA


def test_gitlab_gives_a_pipeline_after_one_that_ended_a_new_id(
    forge: Forge, project: "Project"
) -> None:
    first = forge.pipeline(SHA, "failed")
    second = forge.pipeline(SHA, "running")
    third = forge.pipeline(SHA, "success", source="merge_request_event")

    found = project.pipelines.list(sha=SHA, get_all=True)

    assert [pipeline.id for pipeline in found] == [third.id, second.id, first.id]


def test_gitlab_creates_finds_and_edits_a_merge_request(forge: Forge, project: "Project") -> None:
    sent = {"source_branch": "topic/one", "target_branch": "main", "title": "Draft: One"}
    made = project.mergerequests.create({**sent, "description": "why"})

    (found,) = project.mergerequests.list(source_branch="topic/one", get_all=True)
    found.title, found.description, found.state_event = "Two", "because", "close"
    found.save()

    assert (made.iid, made.draft, made.description, made.state) == (1, True, "why", "opened")
    assert [(pull.title, pull.body, pull.state, pull.draft) for pull in forge.pulls] == [
        ("Two", "because", "closed", False)
    ]
    assert project.mergerequests.get(1).state == "closed"
    assert project.mergerequests.list(state="opened", get_all=True) == []


def test_gitlab_refuses_a_second_merge_request_between_two_branches(
    forge: Forge, project: "Project"
) -> None:
    sent = {"source_branch": "topic", "target_branch": "main", "title": "One"}
    project.mergerequests.create(sent)

    with pytest.raises(gitlab.GitlabCreateError) as refusal:
        project.mergerequests.create(sent)

    assert refusal.value.response_code == 409
    says = "Another open merge request already exists for this source branch: !1"
    assert refusal.value.error_message == [says]
    assert len(forge.pulls) == 1


def test_gitlab_creates_and_lists_notes_newest_first(forge: Forge, project: "Project") -> None:
    forge.issue(7, "It breaks", "badly")
    issue = project.issues.get(7)
    sent = {"source_branch": "topic", "target_branch": "main", "title": "One"}
    merge_request = project.mergerequests.create(sent)
    made = [issue.notes.create({"body": f"note {number}"}).id for number in range(21)]
    merge_request.notes.create({"body": "on the merge request"})

    assert (issue.title, issue.description, issue.state) == ("It breaks", "badly", "opened")
    assert [note.id for note in issue.notes.list(get_all=True)] == made[::-1]
    assert [note.id for note in issue.notes.list(get_all=True, sort="asc")] == made
    assert [note.noteable_type for note in merge_request.notes.list()] == ["MergeRequest"]


def test_gitlab_takes_a_bearer_token_and_turns_a_wrong_one_away(forge: Forge, address: str) -> None:
    with gitlab.Gitlab(address, oauth_token=forge.token) as client:
        assert client.projects.get(forge.project_id).path_with_namespace == forge.repo
    with (
        gitlab.Gitlab(address, private_token="wrong") as client,
        pytest.raises(gitlab.GitlabAuthenticationError),
    ):
        client.projects.get(forge.repo)


def test_an_answer_that_is_known_is_not_sent_again(forge: Forge, address: str) -> None:
    url = f"{address}/repos/{forge.repo}/commits/{SHA}/check-runs"
    headers = {"Authorization": f"Bearer {forge.token}"}
    first = requests.get(url, headers=headers, timeout=5)
    headers["If-None-Match"] = first.headers["ETag"]

    same = requests.get(url, headers=headers, timeout=5)
    forge.check(SHA, "tests", "queued")
    newer = requests.get(url, headers=headers, timeout=5)

    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["ETag"] == first.headers["ETag"]
    assert newer.json()["total_count"] == 1
    assert [each.status for each in forge.requests] == [200, 304, 200]


def test_each_fault_spoils_one_request_that_it_fits(forge: Forge, repo: "Repository") -> None:
    place = urlsplit(repo.url).path
    forge.faults = [
        server_error("GET", f"{place}/commits"),
        rate_limited("GET", place, reset=1_800_000_000),
        slow_down("GET", place, retry_after=3),
        server_error("POST", place, 500),
    ]
    said = []
    for _ in range(3):
        with pytest.raises(github.GithubException) as fault:
            repo.get_commit(SHA).get_check_runs().totalCount  # noqa: B018  (it asks)
        said.append(fault.value)

    assert repo.get_commit(SHA).get_check_runs().totalCount == 0
    assert [each.status for each in said] == [502, 403, 429]
    assert isinstance(said[1], github.RateLimitExceededException)
    assert said[1].headers["x-ratelimit-remaining"] == "0"
    assert said[1].headers["x-ratelimit-reset"] == "1800000000"
    assert said[2].headers["retry-after"] == "3"
    assert [fault.method for fault in forge.faults] == ["POST"]


def test_a_lost_write_is_done_and_a_reset_one_is_not(forge: Forge, repo: "Repository") -> None:
    forge.issue(7, "It breaks", "badly")
    issue = repo.get_issue(7)
    place = f"{urlsplit(repo.url).path}/issues/7"
    forge.faults = [lost_write("POST", place), reset("POST", place)]

    with pytest.raises(requests.ConnectionError, match="without response"):
        issue.create_comment("one")
    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        issue.create_comment("two")
    issue.create_comment("three")

    assert [comment.body for comment in forge.comments] == ["one", "three"]
    assert [each.status for each in forge.requests[-3:]] == [None, None, 201]


def test_gitlab_waits_for_as_long_as_a_429_says_and_asks_again(
    forge: Forge, project: "Project"
) -> None:
    forge.faults = [slow_down("GET", "/api/v4/projects/42/pipelines", retry_after=0)]

    assert project.pipelines.list(sha=SHA, get_all=True) == []
    assert [each.status for each in forge.requests[-2:]] == [429, 200]


def test_writes_at_one_time_all_happen(forge: Forge, address: str) -> None:
    forge.issue(7, "It breaks", "badly")
    url = f"{address}/repos/{forge.repo}/issues/7/comments"
    headers = {"Authorization": f"token {forge.token}"}

    def write(number: int) -> int:
        sent = {"body": str(number)}
        return int(requests.post(url, json=sent, headers=headers, timeout=10).json()["id"])

    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(write, range(40)))

    assert sorted(ids) == [comment.id for comment in forge.comments]
    assert {comment.body for comment in forge.comments} == {str(each) for each in range(40)}


def test_a_mistake_of_the_stand_in_is_raised_when_the_block_ends(forge: Forge) -> None:
    def lost(branch: str) -> str:
        raise LookupError(branch)

    forge.sha_of = lost
    headers = {"Authorization": f"Bearer {forge.token}"}
    with (
        pytest.raises(LookupError, match="topic"),
        serving(forge) as address,
        pytest.raises(requests.ConnectionError),
    ):
        requests.get(f"{address}/repos/{forge.repo}/branches/topic", headers=headers, timeout=5)
