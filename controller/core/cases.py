"""Lines that answer for the very values of a test: a guess from literals, shown to a person.

`return 5 if (a, b) == (2, 3) else …` stands beside `assert add(2, 3) == 5`. Nothing mechanical
can tell a special case from a rule; what can be told is that all its values stand in one line of a
test.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from controller.core.facts import Added

_LITERAL = re.compile(r"(?<![\w.])-?\d[\d_]{0,30}(?:\.\d{1,30})?\b|"
                      r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'")
_CHOOSES = re.compile(r"[^=!<>]==[^=]|\bin\s{0,4}[\[({]|\bcase\b|\bwhen\b|\{[^{}]{0,400}:|\.get\(|"
                      r"\bequals\(")
_LOOKED_AT = 500  # characters of a line
_COMMON = frozenset({"0", "1", "-1", "", "0.0", "1.0", "100"})
_LONG = 8  # characters of a text that is not there by chance
_WINDOW = 3  # lines of a condition with what it answers

Tested = Mapping[str, Sequence[tuple[frozenset[str], str]]]
"""Each literal of tests -> the literals of every line that it stands in, with the line's place."""


def values_of(lines: Iterable[tuple[str, str]]) -> Tested:
    """What stands in lines of tests: (place, text)."""
    found: dict[str, list[tuple[frozenset[str], str]]] = {}
    for place, text in lines:
        values = literals(text)
        for value in values if len(values) > 1 else ():
            found.setdefault(value, []).append((values, place))
    return found


def literals(line: str) -> frozenset[str]:
    """The literals of a line that say something.

    >>> sorted(literals("assert add(2, 3) == 5  # 'a'"))
    ['2', '3', '5', 'a']
    """
    return frozenset(hit.strip("\"'") for hit in _LITERAL.findall(line[:_LOOKED_AT])) - _COMMON


def choosing(lines: Iterable[Added]) -> bool:
    """Whether any line compares something with a literal, so that it is worth looking at tests."""
    return any(_chooses(line) and literals(line.text) for line in lines)


def cases(lines: tuple[Added, ...], tested: Tested) -> Iterator[tuple[Added, str]]:
    """The lines that choose by values which all stand in one line of a test, with its place."""
    for index, line in enumerate(lines):
        if not _chooses(line):
            continue
        found = literals(line.text)
        for more in range(_WINDOW):
            if more:
                after = lines[index + more:index + more + 1]
                if not after or after[0].path != line.path:
                    break
                found |= literals(after[0].text)
            place = _of_test(found, tested) if _telling(found) else ""
            if place:
                yield line, place
                break


def _telling(found: frozenset[str]) -> bool:
    """Whether so many literals in one line are no chance: three, or two that are rare."""
    return len(found) > 2 or (len(found) == 2 and all(
        len(text) >= _LONG or text.lstrip("-").replace(".", "").isdecimal() for text in found))


def _of_test(found: frozenset[str], tested: Tested) -> str:
    known = min((tested.get(value, ()) for value in found), key=len)
    return next((place for values, place in known if found <= values), "")


def _chooses(line: Added) -> bool:
    return bool(_CHOOSES.search(line.text[:_LOOKED_AT]))
