"""What runners say of each test: every dialect, and what of it a check is not content with."""

import pytest

from controller.core.contract import Expected
from controller.core.reports import Unreadable, junit, line_coverage, tap
from controller.core.results import Result, Results, results_from, results_json, shortfall

PASSED, FAILED, SKIPPED, FLAKY = Result.PASSED, Result.FAILED, Result.SKIPPED, Result.FLAKY


@pytest.mark.parametrize(("document", "results"), [
    ("""<testsuites><testsuite name="pytest" tests="9"><testcase classname="tests.test_a" name="b"/>
        <testcase classname="tests.test_a" name="c"><failure message="x">E</failure></testcase>
        <testcase classname="tests.test_a" name="d"><skipped type="pytest.xfail"/></testcase>
        </testsuite></testsuites>""",
     {"tests.test_a::b": PASSED, "tests.test_a::c": FAILED, "tests.test_a::d": SKIPPED}),
    ("""<testsuite><testcase classname="t" name="a"/>
        <testcase classname="t" name="a"><error>teardown</error></testcase></testsuite>""",
     {"t::a": FAILED}),
    ("""<testsuites><testcase name="at the top" file="/w/a.test.mjs"/><testcase name="todo">
        <skipped/><failure/></testcase><testsuite><testcase name="bad"><failure/></testcase>
        </testsuite></testsuites>""",
     {"/w/a.test.mjs::at the top": PASSED, "::todo": SKIPPED, "::bad": FAILED}),
    ("""<testsuite><testcase classname="AppTest" name="adds"><flakyFailure type="x"/></testcase>
        <testcase classname="AppTest" name="rests"><rerunFailure/><failure/></testcase></testsuite>
     """, {"AppTest::adds": FLAKY, "AppTest::rests": FAILED}),
    ("""<testsuite name="ctest"><testcase name="one" classname="one" status="run"/>
        <testcase name="two" classname="two" status="fail"/>
        <testcase name="three" classname="three" status="notrun"><skipped/></testcase></testsuite>
     """, {"one::one": PASSED, "two::two": FAILED, "three::three": SKIPPED}),
    ("""<testsuites><testsuite name="example/app"><testcase classname="example/app" name="TestAdd"
        time="0.0"></testcase></testsuite></testsuites>""", {"example/app::TestAdd": PASSED}),
], ids=["pytest", "torn-down-badly", "node", "surefire", "ctest", "go"])
def test_every_dialect_of_junit_is_read_test_by_test(
        document: str, results: dict[str, Result]) -> None:
    assert junit(document.encode()) == Results(results)


@pytest.mark.parametrize("document", [
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><testsuite/>", b"<testsuite><testcase", b"",
    "<?xml version='1.0' encoding='utf-16'?><testsuite/>".encode("utf-16"),
], ids=["doctype", "cut-off", "empty", "utf-16"])
def test_what_is_no_report_is_refused(document: bytes) -> None:
    with pytest.raises(Unreadable):
        junit(document)


@pytest.mark.parametrize(("stream", "results"), [
    ("TAP version 13\n1..3\nok 1 - adds\nnot ok 2 - takes\nok 3 # SKIP no net\n",
     {"tap::adds": PASSED, "tap::takes": FAILED, "tap::test 3": SKIPPED}),
    ("1..2\nok 1 - a\n", {"tap::a": PASSED, "tap::1 of 2 tests that were planned": FAILED}),
    ("# Subtest: sum\n    ok 1 - two\n    not ok 2 - three\n    1..2\nnot ok 1 - sum\n"
     "# Subtest: more\n    ok 1 - two\nok 2 - more\n1..2\n",
     {"tap::sum::two": PASSED, "tap::sum::three": FAILED, "tap::sum": FAILED,
      "tap::more::two": PASSED, "tap::more": PASSED}),
    ("ok 1" + " " * 5000 + "x#\nok\n1..1\n", {"tap::test 1": PASSED}),
    ("1..1\nnot ok 1 - later # TODO\n", {"tap::later": SKIPPED}),
    ("1..4\nok 1 - a\nBail out! no disk\n",
     {"tap::a": PASSED, "tap::Bail out! no disk": FAILED,
      "tap::3 of 4 tests that were planned": FAILED}),
], ids=["plain", "fewer-than-planned", "subtests", "long", "todo", "bailed-out"])
def test_tap_is_read_test_by_test(stream: str, results: dict[str, Result]) -> None:
    assert tap(stream) == Results(results)


def test_coverage_is_the_share_of_lines() -> None:
    assert line_coverage(b"<coverage line-rate='0.75'/>") == 0.75
    for odd in (b"<testsuite/>", b"<coverage line-rate='nan'/>", b"<coverage line-rate='1.5'/>"):
        with pytest.raises(Unreadable):
            line_coverage(odd)


BASE = Results({"t.a::one": PASSED, "t.a::two": FAILED, "t.a::three": SKIPPED})
GREEN = Results({"t.a::one": PASSED, "t.a::two": PASSED, "t.a::three": SKIPPED})


@pytest.mark.parametrize(("wanted", "now", "said"), [
    (Expected(), GREEN, []),
    (Expected(required=("t/a.py::two",), fail_to_pass=("t/a.py::two",)), GREEN, []),
    (Expected(required=("t/a.py::four",)), GREEN,
     ["t.a::four (not in the report): required, and did not pass"]),
    (Expected(fail_to_pass=("t/a.py::one",)), GREEN,
     ["t.a::one (passed): to fail on the base, and passed there"]),
    (Expected(), Results({"t.a::two": PASSED}),
     ["t.a::one (not in the report): passed on the base, and did not now"]),
    (Expected(), Results({**GREEN.tests, "t.a::one": SKIPPED}),
     ["t.a::one (skipped): passed on the base, and did not now",
      "t.a::one (skipped): skipped, and not so on the base"]),
    (Expected(skips=True, pass_to_pass=("t.a::two",)),
     Results({**GREEN.tests, "t.a::one": SKIPPED}), []),
    (Expected(minimum=3), GREEN, ["2 tests ran; at least 3 are wanted"]),
    (Expected(), Results({**GREEN.tests, "t.a::two": FLAKY}),
     ["t.a::two (flaky): passed only when run again"]),
], ids=["green", "required", "lacking", "passed-before", "gone", "skipped", "skips-allowed", "few",
        "flaky"])
def test_what_is_less_than_wanted_is_said(wanted: Expected, now: Results, said: list[str]) -> None:
    assert list(shortfall(wanted, now, BASE)) == said


def test_a_test_in_a_file_whose_change_a_person_agreed_to_may_go() -> None:
    now, agreed = Results({"t.b::x": PASSED}), frozenset({"t/a.py"})

    assert list(shortfall(Expected(), now, BASE, agreed)) == []


@pytest.mark.parametrize("id", ["my-crate::tests::adds", "tests/test_a.py::a", "tap::a::b::c"])
def test_what_a_report_calls_a_test_is_its_name(id: str) -> None:
    results = Results({id: PASSED, "x::y": SKIPPED})

    assert list(shortfall(Expected(), results, results)) == []
    assert list(shortfall(Expected(), results, None)) == []


def test_results_are_kept_and_read_back() -> None:
    assert results_from(results_json(GREEN)) == GREEN
