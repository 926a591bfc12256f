"""Judging gate: what is measured stays what is measured, and what a person reads is what is there.

A person must agree to text that hides (characters that nobody sees, letters that look like others)
and to product code that knows of its tests. No pattern proves a cheat, and none proves honesty: a
hit is shown to a person, line by line, and everything else is left to the checks.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter

from controller.core.action import Action, Commit, Edit, Replace, Write, touched
from controller.core.facts import Added, Facts
from controller.core.glob import matches
from controller.core.observation import quoted
from controller.core.pointer import pointer
from controller.core.policy import looks_like_test
from controller.core.records import Candidate
from controller.core.redact import HIDDEN, found, printable
from controller.core.rules import Rules
from controller.core.verdict import Decision, Objection, Verdict, judged

_PROSE = ("*.md", "*.rst", "*.txt", "*.adoc", "*.json", "*.jsonl", "*.yaml", "*.yml", "*.toml",
          "*.csv", "*.tsv", "*.html", "*.css", "*.svg", "*.xml", "*.lock", "*.po", "LICENSE*",
          "CHANGELOG*", "AUTHORS*")
"""What no runner runs; everything else is looked into as code."""

_TELLING = {
    "test internals": re.compile(
        r"\b_pytest\b|\bpytest_(?:runtest|collection|report|sessionfinish)\w*|"
        r"^[ \t]*(?:import|from)[ \t]+(?:pytest|pluggy|unittest)\b|"
        r"\bunittest\.(?:case|result|runner|suite|loader)\b|\bTestResult\b|\bTestReport\b|"
        r"\bnode:(?:test|assert)\b|--junit-?xml\b", re.MULTILINE),
    "exit hooks": re.compile(
        r"\b_exit\b|\batexit\b|\bweakref\.finalize\b|\bos\.(?:exec|fork|posix_spawn)\w*|"
        r"\bimport posix\b|\bfrom (?:os|posix) import\b[^\n]{0,80}\b(?:exec|fork|_exit|spawn|kill)|"
        r"\bprocess\.(?:exit|reallyExit|abort|kill)\b|\bstd::process::exit\b|\bos\.Exit\(0|"
        r"\bSystem\.exit\(0|\btrap\b[^\n]{0,80}\bEXIT\b|\bprocess\.(?:on(?:ce)?\(['\"](?:exit|beforeExit)|exitCode\b)|"
        r"^(?:sys\.exit|exit|quit|process\.exit)\(|^raise SystemExit\b", re.MULTILINE),
    "who calls it": re.compile(
        r"\b_getframe\b|\bcurrentframe\b|\binspect\.stack\b|\bset(?:trace|profile)\b|"
        r"\b__traceback__\b|\btb_frame\b|\bf_back\b|\bf_globals\b|\btraceback\.\w*stack\b|"
        r"\bwalk_stack\b|\bextract_stack\b|/proc/self\b|\basync_hooks\b|\bAsyncResource\b|"
        r"\bsys\.monitoring\b|\bsys\.argv\b[^\n]{0,80}\b(?:py)?test|"
        r"\bnew Error\b[^\n]{0,80}\bstack\b|"
        r"\.stack\b[^\n]{0,40}\b(?:includes|match|split)\("),
    "what everything is built on": re.compile(
        r"\bbuiltins\.\w+\s{0,4}=(?!=)|\b__builtins__\b|\bsetattr\(\s{0,4}builtins\b|"
        r"coding[:=][ \t]{0,4}(?!utf-?8)[\w.-]|\bmeta_path\b|\b__subclasses__\b|\b__debug__\b|"
        r"\btype\(\s{0,4}['\"]|\bimport_module\b|"
        r"\b__import__\b|(?<![.\w])(?:exec|eval)\(|\bcompile\([^\n]{0,80}['\"]exec|\bglobalThis\b|"
        r"\bprocess\.(?:stdout|stderr)\.write\s{0,4}=|\bgc\.get_(?:objects|referrers)\b|"
        r"\bctypes\.pythonapi\b|\b__code__\b"),
    "the tests themselves": re.compile(
        r"(?m:^[ \t]*(?:from|import)[ \t]+(?:tests?|test_\w+|\w+_test)\b)|"
        r"['\"](?:[./]{0,3})(?:tests?|__tests__|specs?)(?:/[^'\"\n]{0,200})?['\"]|"
        r"['\"][^'\"\n]{0,200}\b(?:test_\w{1,80}|\w{1,80}_test)\.py['\"]"),
    "loaded modules": re.compile(
        r"\bfrom sys import\b[^\n]{0,80}\b(?:modules|_getframe|settrace|setprofile)\b|"
        r"\brunpy\b|\bpickle\.loads?\b|\bSourceFileLoader\b|\bsys\.modules\b|\brequire\.cache\b"),
    "signs of a test run": re.compile(
        r"\bONESHOT_\w+|PYTHONDONTWRITEBYTECODE|PYTEST_CURRENT_TEST|PYTEST_VERSION|PYTEST_XDIST\w*|JEST_WORKER_ID|\bVITEST\b|"
        r"NODE_TEST_CONTEXT|NODE_V8_COVERAGE|\bin\s{1,4}sys\.argv\b|"
        r"NODE_ENV\W{0,4}={2,3}\s{0,4}['\"]test|"
        r"(?:environ|getenv|process\.env)\W{1,4}(?:get\W{1,3})?CI\b"),
    "equality overridden": re.compile(
        r"\b__(?:eq|ne)__\s{0,4}\([^)\n]{0,80}\)[^:\n]{0,40}:\s{0,80}return\s{1,4}(?:True|False)\b|"
        r"\b__(?:eq|ne)__\s{0,4}=\s{0,4}lambda|"
        r"\bclass \w{1,80}\((?:int|float|complex|str|bytes)\):(?:\n.{0,200}){0,20}?"
        r"\n\s{1,40}def __(?:eq|ne|bool|hash)__"),
}
"""What product code has no business with, by what it is about."""

_LEAVING = {
    "exit hooks": _TELLING["exit hooks"],
    "test internals": re.compile(
        r"\b_pytest\b|\bpytest_plugins\b|\bdef pytest_\w+|\bTestReport\b|\bTestResult\b|"
        r"\brecord_xml_attribute\b|\bjunitxml\b"),
    "loaded modules": _TELLING["loaded modules"],
    "who calls it": _TELLING["who calls it"],
    "tests that are not to count": re.compile(
        r"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|exit)\(|"
        r"\bunittest\.(?:skip|expectedFailure)\w*|\bself\.skipTest\(|"
        r"\b(?:it|test|describe)\.(?:skip|only|todo)\b|\bx(?:it|describe)\(|\bt\.Skip\(|"
        r"#\[ignore\]|@Disabled\b|@Ignore\b"),
}
"""What tests have no business with, in a file of tests."""

_LOOKALIKE = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνɑɡ")  # the rest of Greek is at home in formulas
_FOREIGN = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "FULLWIDTH LATIN", "MATHEMATICAL")
_WORD = re.compile(r"\w{2,200}")


def integrity(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Ask about what an edit writes and a Git commit holds; refuse a Git commit with a secret."""
    action = candidate.transition.action
    lines = tuple(_written(action)) if isinstance(action, Edit) else (
        facts.added if isinstance(action, Commit) else ())
    if isinstance(action, Commit):
        secrets = [Objection("/action", f"{quoted(line.path)}:{line.number} looks like a secret "
                             f"({rule}); take it out")
                   for line in lines for rule in found(printable(line.text))]
        secrets += [Objection("/action", f"the name of a file looks like a secret ({rule}); give "
                              "it another") for item in facts.pending for rule in found(item.path)]
        if secrets:
            return judged("integrity", secrets)
        lines = tuple(line for line in lines if line.path not in facts.agreed)
    return judged("integrity", (*_names(action, facts), *_doubts(lines, rules),
                                *_cases(action, facts)), Decision.CONFIRM)


def mixed(text: str) -> str | None:
    """A word of `text` that has Latin letters and others that look like them.

    >>> mixed("user = \\u0430dmin")
    'аdmin'
    """
    if text.isascii():
        return None
    return next((word for word in _WORD.findall(text) if not word.isascii()
                 and any(char.isascii() and char.isalpha() for char in word)
                 and any(char in _LOOKALIKE or unicodedata.name(char, "").startswith(_FOREIGN)
                         for char in word)), None)


def _names(action: Action, facts: Facts) -> Iterator[Objection]:
    named = touched(action)
    if isinstance(action, Commit):
        named = tuple(item.path for item in facts.pending if item.path not in facts.agreed)
    for path in named:
        word = mixed(path)
        if word:
            yield Objection("/action", f"the name {path!a} has letters that look like others; a "
                            "person must agree")


def _written(action: Edit) -> Iterator[Added]:
    """What an edit adds, with the place of its text in the reply as `where`."""
    for index, change in enumerate(action.changes):
        name = {Write: "content", Replace: "new"}.get(type(change))
        if name:
            where = pointer("action", "changes", index, name)
            for number, text in enumerate(getattr(change, name).split("\n"), 1):
                yield Added(change.path, number, text, where)


def _cases(action: Action, facts: Facts) -> Iterator[Objection]:
    """Lines of a Git commit that answer for the values of one test only."""
    for line, test in facts.cases if isinstance(action, Commit) else ():
        if line.path not in facts.agreed:
            yield Objection("/action", f"{quoted(line.path)}:{line.number} has the very values of "
                            f"{test}: {line.text.strip()[:120]!a}; a person must agree")


def _doubts(lines: tuple[Added, ...], rules: Rules) -> Iterator[Objection]:
    for line in lines:
        yield from _hidden(line)
    for path, group in groupby(lines, attrgetter("path")):
        if not matches(path, _PROSE):
            test = matches(path, rules.policy.protected_paths) or looks_like_test(path)
            yield from _knowing(list(group), _LEAVING if test else _TELLING)


def _hidden(line: Added) -> Iterator[Objection]:
    place = f"{quoted(line.path)}:{line.number}"
    seen = sorted({ord(char) for char in line.text} & HIDDEN)
    if seen:
        names = ", ".join(f"U+{code:04X}" for code in seen)
        yield Objection(line.where, f"{place} has invisible characters ({names}); write them as "
                        "escapes, or a person must agree")
    word = mixed(line.text)
    if word:
        yield Objection(line.where, f"{place}: {word!a} has letters that look like others; a "
                        "person must agree")


def _knowing(lines: list[Added],
             telling: Mapping[str, re.Pattern[str]]) -> Iterator[Objection]:
    """Lines of product code that know of tests, and of tests that leave before they are judged.
    A rule may reach over a line's end.
    """
    text = unicodedata.normalize("NFKC", "\n".join(line.text for line in lines))
    for about, pattern in telling.items():
        hit = pattern.search(text)
        if hit:
            line = lines[min(text.count("\n", 0, hit.start()), len(lines) - 1)]
            yield Objection(line.where, f"{quoted(line.path)}:{line.number} has to do with {about}:"
                            f" {line.text.strip()[:120]!a}; a person must agree")
