"""Whether a run goes anywhere. A sign of standing still first brings a word in the next
observation (nudge), then a stronger model where there is one (escalate), then the end (stop).

A wait, and whatever people and the controller itself do, is no sign of anything.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from controller.core.canonical import digest
from controller.core.head import Turn

KEPT = 40
"""Turns that are looked back upon."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A way of going nowhere. `count` says for how long it has been so; at `nudge`, `escalate` and
    `stop` something is done about it; at `alone` it ends where there is nobody else to ask.
    """

    name: str
    count: Callable[[Sequence[Turn]], int]
    nudge: int
    escalate: int
    stop: int
    alone: int
    told: str


def with_turn(turns: tuple[Turn, ...], turn: Turn) -> tuple[Turn, ...]:
    """The turns with one more; the oldest make room."""
    return (*turns, turn)[-KEPT:]


def nudge(turns: tuple[Turn, ...]) -> str:
    """What the model is told in its next observation; empty: it gets on."""
    found = [sign.told.format(sign.count(turns)) for sign in SIGNS
             if sign.count(turns) >= sign.nudge]
    return f"The controller notes: {' '.join(found)}" if found else ""


def escalated(turns: tuple[Turn, ...]) -> bool:
    """Whether a stronger model is to be asked."""
    return any(sign.count(turns) >= sign.escalate for sign in SIGNS)


def stuck(turns: tuple[Turn, ...], *, alone: bool) -> str:
    """Why the run has to stop; empty: it may go on. `alone`: there is no other model to ask."""
    for sign in SIGNS:
        count = sign.count(turns)
        if count >= (sign.alone if alone else sign.stop):
            return f"no progress: {sign.name} ({count} times)"
    return ""


def failing(output: str) -> str:
    """A mark of the tests that an output says have failed; empty when it says of none.

    >>> failing("FAILED a.py::t - 0.1s") == failing("FAILED a.py::t - 0.2s") != ""
    True
    >>> failing("3 passed")
    ''
    """
    found = sorted({name.strip() for name in _FAILED.findall(output)})
    return digest(list(found))[:12] if found else ""


_FAILED = re.compile(
    r"^(?:FAILED|ERROR|FAIL:|ERROR:|--- FAIL:|not ok \d+ -|\s*● |test(?= \S+ \.\.\. FAILED))"
    r"\s*([^\s(]+)", re.MULTILINE)
"""How pytest, unittest, go, TAP, jest and cargo name a test that failed."""


def _same(turns: Sequence[Turn]) -> int:
    """How often the last thing was done in a row, with the same result."""
    last = turns[-1] if turns else None
    return _run_of(turns, lambda turn: last is not None and not turn.refused
                   and turn.what == last.what)


def _refused(turns: Sequence[Turn]) -> int:
    """How often in a row the last refusal was the same."""
    last = turns[-1] if turns else None
    return _run_of(turns, lambda turn: last is not None and turn.refused
                   and turn.what == last.what)


def _unchanged(turns: Sequence[Turn]) -> int:
    """For how many turns neither files nor knowledge have changed."""
    last = turns[-1] if turns else None
    return max(0, _run_of(turns, lambda turn: last is not None and (
        turn.tree, turn.known) == (last.tree, last.known)) - 1)


def _swings(turns: Sequence[Turn]) -> int:
    """How often the files went back to what they were before the last change."""
    trees = [turns[0].tree] if turns else []
    trees += [later.tree for earlier, later in pairwise(turns) if later.tree != earlier.tree]
    count = 0
    for back in range(len(trees) - 1, 1, -1):
        if trees[back] != trees[back - 2]:
            break
        count += 1
    return count


def _failures(turns: Sequence[Turn]) -> int:
    """How often in a row the same tests failed, each time over other files."""
    tested = [turn for turn in turns if turn.failures]
    if not tested or turns[-1].failures != tested[-1].failures:
        return 0
    same = tested[len(tested) - _run_of(tested, lambda turn: (
        turn.failures == tested[-1].failures)):]
    return len(dict.fromkeys(turn.tree for turn in same))


def _run_of(turns: Sequence[Turn], holds: Callable[[Turn], bool]) -> int:
    """For how many turns, up to the last, something holds."""
    count = 0
    for turn in reversed(turns):
        if not holds(turn):
            break
        count += 1
    return count


SIGNS = (
    Sign("the same action gave the same result", _same, 3, 4, 6, 4,
         "the same action has given the same result {} times. Do something else; if you wait for "
         "something, use `wait`."),
    Sign("the same objection to each reply", _refused, 2, 3, 5, 3,
         "this is the same objection {} times in a row. Read it, and change what it is about."),
    Sign("neither files nor state nor evidence have changed", _unchanged, 8, 16, 24, 16,
         "for {} steps neither files nor state nor evidence have changed. Write down what you have "
         "learned with a state_patch, or act on it."),
    Sign("the files go back and forth between two states", _swings, 3, 4, 6, 6,
         "the files have gone back and forth {} times. Decide for one way and say why in the state."
         ),
    Sign("the same tests fail whatever is changed", _failures, 5, 10, 15, 15,
         "the same tests fail after {} different changes. Look for another cause."),
)
"""What is looked for."""
