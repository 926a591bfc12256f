"""Our clients against the stand-in: every state of a check, every way a forge does not answer."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controller.core.contract import HostedCheck
from controller.core.delivery import Thread, keys, marked
from controller.core.hosted import Check, State, ended, judge, last_word, last_words
from controller.core.records import Finding
from controller.forge import Forge as Client
from controller.forge.github import GitHub
from controller.forge.gitlab import GitLab
from controller.forge.program import Program
from controller.web import Unreachable, Web
from tests.forge.records import Job
from tests.forge.server import Forge, rate_limited, reset, server_error, serving, slow_down

SHA = "a" * 40
OTHER = "b" * 40


@pytest.fixture
def forge() -> Iterator[tuple[Forge, str]]:
    forge = Forge()
    with serving(forge) as address:
        yield forge, address


def github(forge: Forge, address: str) -> GitHub:
    return GitHub(Web({"Authorization": f"Bearer {forge.token}"}), "octo/demo", address)


def gitlab(forge: Forge, address: str) -> GitLab:
    return GitLab(Web({"PRIVATE-TOKEN": forge.token}), "octo/demo", f"{address}/api/v4")


@pytest.mark.parametrize(("status", "conclusion", "state"), [
    ("queued", None, State.QUEUED), ("in_progress", None, State.RUNNING),
    ("waiting", None, State.ACTION_REQUIRED), ("pending", None, State.QUEUED),
    ("completed", "success", State.SUCCESS), ("completed", "failure", State.FAILURE),
    ("completed", "cancelled", State.CANCELLED), ("completed", "skipped", State.SKIPPED),
    ("completed", "neutral", State.NEUTRAL), ("completed", "stale", State.STALE),
    ("completed", "timed_out", State.TIMED_OUT),
    ("completed", "action_required", State.ACTION_REQUIRED),
    ("completed", "startup_failure", State.FAILURE),
    ("completed", "something new", State.ACTION_REQUIRED),
], ids=str)
def test_a_check_run_of_github_has_an_answer_of_its_own(
        forge: tuple[Forge, str], status: str, conclusion: str | None, state: State) -> None:
    forge[0].check(SHA, "build", status, conclusion)

    (check,) = github(*forge).checks(SHA)

    assert (check.state, check.commit, check.app) == (state, SHA, "own")


@pytest.mark.parametrize(("said", "state"), [
    ("created", State.QUEUED), ("running", State.RUNNING), ("success", State.SUCCESS),
    ("failed", State.FAILURE), ("canceled", State.CANCELLED), ("skipped", State.SKIPPED),
    ("manual", State.ACTION_REQUIRED), ("something new", State.ACTION_REQUIRED)])
def test_a_job_of_gitlab_has_an_answer_of_its_own(
        forge: tuple[Forge, str], said: str, state: State) -> None:
    forge[0].pipeline(SHA, "running", jobs=[Job("build", said, log="it broke")])

    (check,) = gitlab(*forge).checks(SHA)

    assert (check.name, check.state, check.app) == ("build", state, "own")
    assert "it broke" in gitlab(*forge).log(check)


WANTED = HostedCheck("build", "own")


@pytest.mark.parametrize(("checks", "finding"), [
    ([], Finding.UNKNOWN),
    ([Check("build", State.SUCCESS, SHA, "own")], Finding.VERIFIED),
    ([Check("build", State.SUCCESS, OTHER, "own")], Finding.UNKNOWN),
    ([Check("build", State.SUCCESS, SHA, "4711")], Finding.UNKNOWN),
    ([Check("other", State.SUCCESS, SHA, "own")], Finding.UNKNOWN),
    ([Check("build", State.SKIPPED, SHA, "own")], Finding.FAILING),
    ([Check("build", State.SUCCESS, SHA, "own", "1"), Check("build", State.FAILURE, SHA, "own",
                                                           "2")], Finding.FAILING),
    ([Check("build", State.FAILURE, SHA, "own", "1"), Check("build", State.RUNNING, SHA, "own",
                                                           "2")], Finding.UNKNOWN),
    ([Check("build", State.SUCCESS, SHA, "own", "2", "suite-1"), Check(
        "build", State.FAILURE, SHA, "own", "1", "suite-2")], Finding.FAILING),
    ([Check("build", State.SUCCESS, SHA, "")], Finding.UNKNOWN),
], ids=["none-yet", "green", "another-commit", "another-app", "another-name", "skipped",
        "red-when-run-again", "running-again", "red-in-another-suite", "a-status-of-that-name"])
def test_only_the_last_word_of_the_right_app_on_the_right_commit_is_green(
        checks: list[Check], finding: Finding) -> None:
    assert judge(WANTED, last_word(WANTED, checks, SHA))[0] is finding


def test_of_statuses_and_attempts_the_newest_word_counts(forge: tuple[Forge, str]) -> None:
    stand, client = forge[0], github(*forge)
    stand.check(SHA, "build", "completed", "failure")
    stand.check(SHA, "build", "completed", "success")
    stand.status(SHA, "cla", "pending")
    stand.status(SHA, "cla", "success")

    words = last_words(client.checks(SHA), SHA)

    assert {(check.name, check.app, check.state) for check in words} == {
        ("build", "own", State.SUCCESS), ("cla", "", State.SUCCESS)}
    assert ended(words)


def test_the_log_of_a_failed_job_comes_from_elsewhere_without_our_token(
        forge: tuple[Forge, str]) -> None:
    forge[0].check(SHA, "build", "completed", "failure", log="E  assert 1 == 2")
    (check,) = github(*forge).checks(SHA)

    assert "E  assert 1 == 2" in github(*forge).log(check)


@pytest.mark.parametrize("make", [github, gitlab])
def test_a_pull_request_is_opened_once_brought_up_to_date_and_found(
        forge: tuple[Forge, str], make: object) -> None:
    client: Client = make(*forge)  # type: ignore[operator]  # one of the two above
    forge[0].sha_of = lambda _: SHA
    assert client.pulls("oneshot/x") == ()

    made = client.open_pull("oneshot/x", "main", "T", marked("B", "k1", "r"), draft=False)
    client.edit_pull(made.number, "T2", marked("B2", "k2", "r"), draft=False)

    (found,) = client.pulls("oneshot/x")
    assert (found.number, found.open, keys(found.body)) == (made.number, True, ("k2",))
    with pytest.raises(Unreachable, match=r"409|422"):
        client.open_pull("oneshot/x", "main", "T", "B", draft=False)


@pytest.mark.parametrize("make", [github, gitlab])
def test_comments_and_issues_are_read_to_the_last_page(
        forge: tuple[Forge, str], make: object) -> None:
    client: Client = make(*forge)  # type: ignore[operator]  # one of the two above
    forge[0].issue(7, "Title", "Text")
    for number in range(230):
        forge[0].add_comment(7, f"comment {number}")
    client.comment(Thread("issue", 7), marked("last", "k9", "r"))

    texts = list(client.comments(Thread("issue", 7)))

    assert len(texts) == 231
    assert keys(texts[-1]) == ("k9",)
    assert client.issue(7).text == "Title\n\nText"


def test_what_has_not_changed_is_not_sent_again(forge: tuple[Forge, str]) -> None:
    client = github(*forge)
    forge[0].issue(7, "Title", "Text")

    assert client.issue(7) == client.issue(7)
    assert [exchange.status for exchange in forge[0].requests] == [200, 304]
    forge[0].issue(7, "Title", "Other text")
    assert client.issue(7).body == "Other text"


def test_what_the_forge_requires_is_known(forge: tuple[Forge, str]) -> None:
    client = github(*forge)
    assert client.required("main") == ()
    forge[0].required["main"] = {"tests": 15368}

    assert client.required("main") == ("tests (app 15368)",)


@pytest.mark.parametrize(("fault", "status", "until"), [
    (server_error("GET", "/repos"), 502, None),
    (rate_limited("GET", "/repos", 1_800_000_000), 403, 1_800_000_000.0),
    (slow_down("GET", "/repos", 7), 429, -7.0),
    (reset("GET", "/repos"), None, None),
], ids=["502", "rate-limit", "slow-down", "reset"])
def test_a_forge_that_does_not_answer_is_said_so(
        forge: tuple[Forge, str], fault: object, status: int | None, until: float | None) -> None:
    forge[0].faults.append(fault)  # type: ignore[arg-type]  # one of those above

    with pytest.raises(Unreachable) as caught:
        github(*forge).issue(7)

    assert (caught.value.status, caught.value.until) == (status, until)


def test_a_token_goes_nowhere_without_encryption() -> None:
    with pytest.raises(Unreachable, match="begins with https://"):
        Web({"Authorization": "Bearer x"}).get("http://example.org/")


def test_any_other_ci_is_asked_by_a_command(tmp_path: Path) -> None:
    said = json.dumps([{"name": "build", "state": "success", "attempt": 2},
                       {"name": "lint", "state": "Failed", "log": "it broke"}])
    client = Program(("sh", "-c", f"test $ONESHOT_COMMIT = {SHA} && echo '{said}'"), tmp_path,
                     {"PATH": os.defpath})

    build, lint = client.checks(SHA)

    assert (build.state, lint.state) == (State.SUCCESS, State.FAILURE)
    assert client.log(lint) == "it broke"
    with pytest.raises(Unreachable, match="exited with 1"):
        client.checks(OTHER)
    odd = Program(("sh", "-c", "echo '[{\"name\": \"x\", \"state\": \"fine\"}]'"), tmp_path,
                  {"PATH": os.defpath})
    with pytest.raises(Unreachable, match="unknown state 'fine' of check 'x'; expected one of"):
        odd.checks(SHA)


def test_a_server_that_never_finishes_its_answer_is_given_up() -> None:
    def drip(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                while not done.wait(0.05):
                    connection.sendall(b"H")

    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        port = listener.getsockname()[1]

        with pytest.raises(Unreachable, match="no whole answer in 1 s"):
            Web(seconds=0.3).get(f"http://127.0.0.1:{port}/")
        done.set()
        thread.join()
