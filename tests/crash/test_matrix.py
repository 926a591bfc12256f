"""The kill matrix, a part of it: `scripts/crash_matrix` tries it whole."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.actions.hands import Hands
from controller.core.records import Effect, Outcome, Remains
from tests.crash import actors
from tests.crash.faults import Case, at_boundary, boundaries
from tests.crash.judge import Judgement, tried
from tests.crash.matrix import Plan, boundary_cases, call_cases, random_cases, second_cases
from tests.crash.stage import run, staged, template


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="module")
def strace() -> None:
    if not shutil.which("strace"):
        pytest.skip("LOUD SKIP: no strace, so no system call was made to fail")


PARTS: dict[str, tuple[Callable[[Path, Path], list[Plan]], int]] = {
    "boundaries": (lambda source, folder: list(boundary_cases(source, folder)), 8),
    "system-calls": (lambda source, folder: list(call_cases(source, folder)), 12),
    "random-moments": (lambda source, folder: list(random_cases()), 8),
    "second-deaths": (lambda source, folder: list(second_cases(source, folder)), 6),
}


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize(("cases", "every"), PARTS.values(), ids=PARTS)
def test_coming_to_harm_loses_doubles_and_halves_nothing(
        source: Path, tmp_path: Path, cases: Callable[[Path, Path], list[Plan]],
        every: int) -> None:
    wrong = {}
    for number, (case, how, judge) in enumerate(cases(source, tmp_path)[::every]):
        found = tried(source, tmp_path / str(number), case, how, judge)
        asked = found.unknown if case.scenario == "blind" else 0
        if found != Judgement(unknown=asked):
            wrong[case] = found

    assert wrong == {}


def test_the_matrix_sees_a_controller_that_undoes_nothing(
        source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(_self: Hands, _effect: Effect) -> None:
        """The pre-snapshot is not restored."""

    monkeypatch.setattr(Hands, "_undo", careless)

    found = tried(source, tmp_path / "case", _performed(source, tmp_path, "workspace"), at_boundary)

    assert found.half_done


def test_the_matrix_sees_a_controller_that_does_everything_again(
        source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resume = Hands.resume

    def blindly(self: Hands, effect: Effect, _remains: Remains) -> Outcome:
        return resume(self, effect, Remains(False, "not looked"))

    monkeypatch.setattr(Hands, "resume", blindly)

    found = tried(source, tmp_path / "case", _performed(source, tmp_path, "external"), at_boundary)

    assert found.doubled


def _performed(source: Path, folder: Path, scenario: str) -> Case:
    """Killed when the second action has been performed, and nobody has written it down."""
    (number,) = (number for number, name in boundaries(
        staged(source, folder / "dry", scenario), 2) if name == "after perform")
    return Case(scenario, "SIGKILL", "after perform", number)


ROUNDS = 200


def test_of_two_controllers_at_once_one_proceeds_and_the_other_names_it(
        source: Path, tmp_path: Path) -> None:
    """The winner's action lasts until the loser has ended."""
    stage = staged(source, tmp_path / "case", "pure")
    line = "until test -e __pycache__/ended; do sleep 0.01; done"
    stage.tell([run("true"), *(run(f"{line}; echo {number}") for number in range(ROUNDS))])
    actors.wait(stage, actors.start(stage, *actors.new(stage), "--steps", "1"))
    (folder,) = (tmp_path / "case/cache/oneshot").glob("*/work")
    ended, wrong = folder / "__pycache__/ended", []  # no snapshot has it
    ended.parent.mkdir()
    for number in range(1, ROUNDS + 1):
        ended.unlink(missing_ok=True)
        both = [actors.start(stage, *actors.again(stage), "--steps", "1", "--max-steps", "1000",
                             said=str(index)) for index in range(2)]
        first = actors.wait_any(stage, both)
        ended.touch()
        second = actors.wait(stage, first.other, str(both.index(first.other)))
        if (first.ended.code, second.code) != (10, 3) or (
                f"is held by process {first.other} on" not in first.ended.said):
            wrong.append((number, first, second))

    assert wrong == []
