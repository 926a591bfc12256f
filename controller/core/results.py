"""What a test runner says of each test, and what of it a check is not content with.

The exit code is the verdict, and a report only explains; but a report that lacks a test, or in
which one that ran before is skipped now, takes the verdict back.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from controller.core.canonical import JsonObject, entries
from controller.core.contract import Expected

_SOURCES = (".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".java", ".kt", ".go", ".rs",
            ".rb", ".php", ".cs", ".scala", ".ex", ".exs", ".c", ".cc", ".cpp")
_NAMED = 5  # tests that a sentence names


class Result(Enum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    FLAKY = "flaky"  # it failed, was run again and passed


_WORST = (Result.FAILED, Result.FLAKY, Result.SKIPPED, Result.PASSED)


@dataclass(frozen=True, slots=True)
class Results:
    """Test id -> how it ended. An id is `group::name`: of JUnit the class name and the name."""

    tests: Mapping[str, Result] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many tests ended in which way."""
        found = Counter(self.tests.values())
        return {result.value: found[result] for result in Result if found[result]}

    def __str__(self) -> str:
        return ", ".join(f"{count} {way}" for way, count in self.counts.items()) or "no tests"


def results_of(found: Iterable[tuple[str, Result]]) -> Results:
    """Results in which a test that is told of twice has ended in the worse way."""
    tests: dict[str, Result] = {}
    for id, result in found:
        known = tests.get(id, result)
        tests[id] = min(known, result, key=_WORST.index)
    return Results(tests)


def results_json(results: Results) -> JsonObject:
    """Results as they are kept."""
    return {id: result.value for id, result in sorted(results.tests.items())}


def results_from(kept: JsonObject) -> Results:
    """The results that `results_json` wrote."""
    return Results({id: Result(value) for id, value in entries(kept).items()})


def test_id(name: str) -> str:
    """A test as people name it, as reports do: pytest's node ids have a path.

    >>> test_id("tests/test_app.py::TestAdd::test_two[1-2]")
    'tests.test_app.TestAdd::test_two[1-2]'
    >>> test_id("app.AppTest::adds")
    'app.AppTest::adds'
    """
    bare, bracket, parameters = name.partition("[")
    first, *rest = bare.split("::")
    if not rest:
        return name
    group = first.removesuffix(".py").replace("/", ".") if first.endswith(".py") else first
    return ".".join((group, *rest[:-1])) + f"::{rest[-1]}{bracket}{parameters}"


def shortfall(wanted: Expected, now: Results, base: Results | None,
              agreed: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every way in which results are less than a check wants, a sentence each.

    `base`: what the same check said of the untouched base, when that is known. What passed there
    must pass, but for tests in files whose change a person `agreed` to.
    """
    def lacking(ids: Iterable[str]) -> list[str]:
        return [id for id in ids if now.tests.get(id) is not Result.PASSED]

    known = base.tests if base else {}
    before = [id for id, result in known.items() if result is Result.PASSED
              and not _in(id, agreed)]
    required, turned, still = ([_found(id, now) for id in ids] for ids in (
        wanted.required, wanted.fail_to_pass, wanted.pass_to_pass))
    for ids, words in (
            (lacking(required), "required, and did not pass"),
            (lacking(turned), "to pass now, and did not"),
            (lacking(still or before), "passed on the base, and did not now"),
            ([id for id in turned if known.get(id) is Result.PASSED],
             "to fail on the base, and passed there")):
        if ids:
            yield f"{_named(ids, now)}: {words}"
    yield from _counted(wanted, now, base)


def _found(id: str, now: Results) -> str:
    """What a report calls a test that people name as it does, by its file, in TAP by its name."""
    names = (id, test_id(id), f"tap::{id}")
    return next((name for name in names if name in now.tests), test_id(id))


def _counted(wanted: Expected, now: Results, base: Results | None) -> Iterator[str]:
    ran = sum(result in (Result.PASSED, Result.FAILED) for result in now.tests.values())
    if ran < wanted.minimum:
        yield f"{ran} tests ran; at least {wanted.minimum} are wanted"
    flaky = [id for id, result in now.tests.items() if result is Result.FLAKY]
    if flaky:
        yield f"{_named(flaky, now)}: passed only when run again"
    skipped = [id for id, result in now.tests.items() if base is not None
               and result is Result.SKIPPED and base.tests.get(id) is not Result.SKIPPED]
    if skipped and not wanted.skips:
        yield f"{_named(skipped, now)}: skipped, and not so on the base"


def _named(ids: list[str], now: Results) -> str:
    def said(id: str) -> str:
        result = now.tests.get(id)
        return f"{id} ({result.value if result else 'not in the report'})"

    rest = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(map(said, ids[:_NAMED])) + rest


def _in(id: str, paths: frozenset[str]) -> bool:
    """Whether a test is in one of these files, as far as its id tells."""
    group = id.partition("::")[0].replace("/", ".") + "."
    return group != "." and any(
        group.startswith(_module(path) + ".") for path in paths if path.endswith(_SOURCES))


def _module(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0] or name}".replace("/", ".")
