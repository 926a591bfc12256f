"""Signs of standing still, and the lack of them where a run gets on."""

from collections.abc import Callable, Iterable

import pytest

from controller.core.head import Turn
from controller.core.progress import KEPT, escalated, failing, nudge, stuck, with_turn


def turns(*made: Turn) -> tuple[Turn, ...]:
    return made


def different(number: int, **fields: str) -> Turn:
    given = {"what": f"do {number}", "tree": f"tree {number}", "known": f"known {number}", **fields}
    return Turn(**given)  # type: ignore[arg-type]  # texts


def many(count: int, **fields: str) -> tuple[Turn, ...]:
    return tuple(different(number, **fields) for number in range(count))


def swings(count: int) -> tuple[Turn, ...]:
    """A, B, A, B, …: so many times back to what it was."""
    return tuple(different(number, tree=f"tree {number % 2}") for number in range(count + 2))


def refusals(count: int) -> tuple[Turn, ...]:
    return tuple(Turn("no such file", f"tree {n}", f"known {n}", refused=True)
                 for n in range(count))


Make = Callable[[int], tuple[Turn, ...]]

SIGNS: dict[str, tuple[Make, int, int, int]] = {
    "same action": (lambda count: many(count, what="again"), 3, 4, 6),
    "same refusal": (refusals, 2, 3, 5),
    "nothing changes": (lambda count: many(count + 1, tree="t", known="k"), 8, 16, 24),
    "back and forth": (swings, 3, 4, 6),
    "same failures": (lambda count: many(count, failures="f"), 5, 10, 15),
}


@pytest.mark.parametrize("name", SIGNS)
def test_first_a_word_then_another_model_then_the_end(name: str) -> None:
    make, word, other, end = SIGNS[name]

    assert nudge(make(word - 1)) == ""
    assert nudge(make(word)).startswith("The controller notes: ")
    assert str(word) in nudge(make(word))
    assert not escalated(make(other - 1))
    assert escalated(make(other))
    assert stuck(make(end - 1), alone=False) == ""
    assert f"({end} times)" in stuck(make(end), alone=False)


ALONE = {"same action": 4, "same refusal": 3, "nothing changes": 16, "back and forth": 6,
         "same failures": 15}


@pytest.mark.parametrize("name", SIGNS)
def test_where_there_is_nobody_else_to_ask_it_ends_no_later(name: str) -> None:
    make, end = SIGNS[name][0], ALONE[name]

    assert end <= SIGNS[name][3]
    assert stuck(make(end - 1), alone=True) == ""
    assert stuck(make(end), alone=True).startswith("no progress: ")


HONEST: dict[str, Iterable[Turn]] = {
    "every step is new": many(60),
    "reads that are written down": [different(n, tree="t") for n in range(60)],
    "edits of one file with the state as it is": [different(n, known="k") for n in range(60)],
    "tests that fail one after the other": [different(n, failures=f"f{n}") for n in range(60)],
    "the same tests run now and then between edits": [
        different(n, what="pytest" if n % 2 else f"edit {n}", known=f"k{n}") for n in range(60)],
    "one way back": [different(0), different(1), different(2, tree="tree 0"), *many(30)],
    "one red test over ten rounds of edits": [
        different(n, what="pytest" if n % 3 == 2 else f"edit {n}", tree=f"t{n - n % 3}",
                  failures="f" if n % 3 == 2 and n < 12 else "") for n in range(30)],
    "two looks at one thing": [different(n // 2, known=f"k{n}") for n in range(60)],
    "other refusals each time": [
        Turn(f"why {n}", f"t{n // 4}", f"k{n // 4}", refused=n % 4 > 0) for n in range(60)],
}


@pytest.mark.parametrize("name", HONEST)
def test_work_that_gets_on_is_never_called_standing_still(name: str) -> None:
    so_far: tuple[Turn, ...] = ()
    for turn in HONEST[name]:
        so_far = with_turn(so_far, turn)
        assert nudge(so_far) == ""
        assert stuck(so_far, alone=True) == ""
    assert len(so_far) <= KEPT


def test_a_test_that_passes_in_between_ends_the_series_of_failures() -> None:
    failed = many(3, failures="f")

    assert nudge(turns(*failed, different(9, failures="other"), *failed)) == ""


@pytest.mark.parametrize(("output", "named"), [
    ("FAILED tests/test_a.py::test_x - assert 1 == 2", True),
    ("FAIL: test_x (test_a.Case.test_x)", True), ("--- FAIL: TestX (0.00s)", True),
    ("not ok 3 - adds", True), ("  ● adds", True), ("test adds ... FAILED", True),
    ("12 passed in 0.1s", False), ("ok 3 - adds", False), ("", False),
])
def test_the_tests_that_failed_are_found_in_what_runners_print(output: str, named: bool) -> None:
    assert bool(failing(f"something\n{output}\nmore")) is named


def test_times_and_order_don_t_make_other_failures() -> None:
    one = "FAILED a.py::x - took 0.1s\nFAILED b.py::y - took 0.1s\n"
    two = "FAILED b.py::y - took 3.2s\nFAILED a.py::x - took 0.4s\n"

    assert failing(one) == failing(two) != failing("FAILED a.py::x - took 0.1s\n")
