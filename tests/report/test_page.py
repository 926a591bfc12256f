"""The report page: everything a person asks in the morning, and nothing that runs."""

import re
from datetime import timedelta
from pathlib import Path

from controller.core.miss import Limit, Miss
from controller.core.records import Reply
from controller.report.page import render_report, write_report
from controller.testing.clock import MORNING
from controller.testing.world import RUN, World, command
from tests.test_loop import proved, solve

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\" onload=x " + "y" * 9000


def whole() -> World:
    world = World()
    solve(world)
    proved(world)
    world.go()
    return world


def test_the_page_answers_in_the_order_of_questions() -> None:
    page = render_report(whole().queries, RUN)

    order = ["proved done</h1>", "<p>Make it green.", "criteria verified", "<h2>Criteria",
             "<td>green", "pytest: verified", "<h2>Prompt size", "<h2>Every step",
             "<h2>Not checked"]
    places = [page.index(said) for said in order]
    assert places == sorted(places)
    assert page.count("<details") == 8
    assert "unknown key; did you mean &#39;facts&#39;?" in page


def test_the_page_tells_of_the_models_that_did_not_answer_and_what_was_done_about_it() -> None:
    world = World()
    limit = Miss(Limit(MORNING + timedelta(hours=2)), HOSTILE)
    world.model.answers.append(lambda _: Reply(b"") if world.model.prompts[1:] else limit)
    world.go(1)

    page = render_report(world.queries, RUN)

    assert "<h2>Models that did not answer" in page
    assert "usage limit until 2026-01-05 10:00 UTC (" in page
    assert "nobody is asked before 10:01:00 UTC" in page
    assert "<h2>Models" not in render_report(whole().queries, RUN)


def test_the_page_runs_nothing_and_asks_for_nothing() -> None:
    page = render_report(whole().queries, RUN)

    assert "<script" not in page
    assert "default-src 'none'" in page
    assert re.findall(r"(?:src|href)=\"(?!#)", page) == []
    assert re.findall(r"\bon\w+=", page) == []


def test_hostile_text_is_inert() -> None:
    world = World()
    world.model.replies(command("echo x"), {"facts": {"a": {"text": HOSTILE[:60]}}})
    world.model.says(HOSTILE.encode())
    world.model.replies({"kind": "ask", "question": HOSTILE[:1000].replace("\u202e", "")})
    world.go()
    world.desk.say(RUN, HOSTILE, MORNING)
    page = render_report(world.queries, RUN)

    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page


def test_a_run_that_waits_says_what_to_type() -> None:
    world = World()
    world.model.replies({"kind": "ask", "question": "Which?"})
    world.go()

    page = render_report(world.queries, RUN)

    assert "waits for a person" in page
    assert "Needs you" in page
    assert "q1: Which?" in page
    assert "oneshot say" in page


def test_what_is_not_known_is_called_unknown() -> None:
    world = World()
    world.model.says(b"no")
    world.step()

    page = render_report(world.queries, RUN)

    assert "<b>unknown</b>cost" in page
    assert "<b>unknown</b>tokens" in page


def test_the_page_is_written_beside_the_record(tmp_path: Path) -> None:
    world = whole()

    place = write_report(world.queries, RUN, tmp_path / RUN)

    assert place == tmp_path / RUN / "report.html"
    assert place.read_text() == render_report(world.queries, RUN)
