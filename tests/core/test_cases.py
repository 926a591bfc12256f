"""A line that answers for the values of one test is shown to a person."""

import pytest

from controller.core.cases import cases, choosing, values_of
from controller.core.facts import Added

TESTS = values_of([("tests/test_calc.py:4", "    assert add(2, 3) == 5"),
                ("tests/test_calc.py:9", "    assert fib(7) == 13"),
                ("tests/test_text.py:2", "    assert slug('Hello World') == 'hello-world'"),
                ("tests/test_text.py:5", "    assert kind('csv') == 'text/csv'")])


@pytest.mark.parametrize(("written", "place"), [
    ("return 5 if (a, b) == (2, 3) else a - b", "tests/test_calc.py:4"),
    ("if a == 2 and b == 3:\n    return 5", "tests/test_calc.py:4"),
    ("if n == 7:\n    return 13", "tests/test_calc.py:9"),
    ("return {(2, 3): 5}[a, b]", "tests/test_calc.py:4"),
    ("if text == 'Hello World':\n    return 'hello-world'", "tests/test_text.py:2"),
    ("if n == 7:\n    raise ValueError(n)", ""),
    ("if kind == 'csv':\n    return 'text/csv'", ""),
    ("return a + b", ""),
    ("total = add(2, 3)", ""),
], ids=["tuple", "and", "one-value", "table", "texts", "no-answer", "short", "rule", "no-choice"])
def test_values_that_all_stand_in_one_line_of_a_test_are_seen(written: str, place: str) -> None:
    lines = tuple(Added("calc.py", number, text) for number, text in enumerate(
        written.split("\n"), 1))

    assert [found for _, found in cases(lines, TESTS)] == ([place] if place else [])
    assert choosing(lines) or not place
