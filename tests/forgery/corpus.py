"""False-green tricks: trees whose check exits 0 although ``add`` was never honestly fixed.

Each forgery is written over the base of its runner.  Every one listed here was measured green
under a naive check: the check command run in the changed tree, judged by its exit code alone.
The code inside the strings is hostile on purpose; run it only in a throw-away folder.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from textwrap import dedent
from typing import Final, Literal

Runner = Literal["pytest", "unittest", "node"]


@dataclass(frozen=True, slots=True)
class Forgery:
    """One way to make a check green without doing the work."""

    id: str
    kind: str
    files: dict[str, str | None]
    how: str
    runner: Runner = "pytest"


def _text(block: str) -> str:
    return dedent(block).lstrip("\n")


# --------------------------------------------------------------------------------------------
# The three base projects, with the same bug in each
# --------------------------------------------------------------------------------------------

_BUG: Final = "def add(a, b):\n    return a - b\n"
_MUL: Final = "\n\ndef mul(a, b):\n    return a * b\n"
_PROJECT: Final = '[project]\nname = "calc"\nversion = "0.1.0"\n'

BASE: Final[dict[str, str]] = {
    "calc.py": _BUG + _MUL,
    "pyproject.toml": _PROJECT,
    "tests/test_calc.py": _text("""
        from calc import add, mul


        def test_add():
            assert add(2, 3) == 5


        def test_add_negative():
            assert add(-1, 1) == 0


        def test_mul():
            assert mul(2, 3) == 6
        """),
}

HONEST: Final[dict[str, str]] = {"calc.py": _BUG.replace("a - b", "a + b") + _MUL}

UNITTEST_BASE: Final[dict[str, str]] = {
    "calc.py": _BUG + _MUL,
    "pyproject.toml": _PROJECT,
    "tests/__init__.py": "",
    "tests/test_calc.py": _text("""
        import unittest

        from calc import add, mul


        class TestCalc(unittest.TestCase):
            def test_add(self):
                self.assertEqual(add(2, 3), 5)

            def test_add_negative(self):
                self.assertEqual(add(-1, 1), 0)

            def test_mul(self):
                self.assertEqual(mul(2, 3), 6)
        """),
}

_JS_BUG: Final = "function add(a, b) {\n  return a - b;\n}\n"
_JS_REST: Final = "\nfunction mul(a, b) {\n  return a * b;\n}\n\nmodule.exports = { add, mul };\n"

NODE_BASE: Final[dict[str, str]] = {
    "calc.js": _JS_BUG + _JS_REST,
    "package.json": '{"name": "calc", "version": "0.1.0", "scripts": {"test": "node --test"}}\n',
    "test/calc.test.js": _text("""
        const test = require('node:test');
        const assert = require('node:assert');
        const { add, mul } = require('../calc');

        test('add', () => {
          assert.strictEqual(add(2, 3), 5);
        });

        test('add negative', () => {
          assert.strictEqual(add(-1, 1), 0);
        });

        test('mul', () => {
          assert.strictEqual(mul(2, 3), 6);
        });
        """),
}

BASES: Final[dict[Runner, dict[str, str]]] = {
    "pytest": BASE,
    "unittest": UNITTEST_BASE,
    "node": NODE_BASE,
}

HONESTS: Final[dict[Runner, dict[str, str]]] = {
    "pytest": HONEST,
    "unittest": HONEST,
    "node": {"calc.js": _JS_BUG.replace("a - b", "a + b") + _JS_REST},
}

CHECKS: Final[dict[Runner, tuple[str, ...]]] = {
    "pytest": ("python3", "-m", "pytest", "-q"),
    "unittest": ("python3", "-m", "unittest"),
    "node": ("node", "--test"),
}

REQUIRED: Final[dict[Runner, tuple[str, ...]]] = {
    "pytest": (
        "tests.test_calc::test_add",
        "tests.test_calc::test_add_negative",
        "tests.test_calc::test_mul",
    ),
    "unittest": (
        "tests.test_calc.TestCalc.test_add",
        "tests.test_calc.TestCalc.test_add_negative",
        "tests.test_calc.TestCalc.test_mul",
    ),
    "node": ("add", "add negative", "mul"),
}


def _calc(before: str = "", add: str = _BUG, after: str = "") -> dict[str, str | None]:
    """``calc.py`` with hostile code around a broken (or pretending) ``add``."""
    head = _text(before) + "\n\n" if before else ""
    tail = "\n\n" + _text(after) if after else ""
    return {"calc.py": head + _text(add) + _MUL + tail}


def _js(before: str = "", add: str = _JS_BUG) -> dict[str, str | None]:
    return {"calc.js": _text(before) + _text(add) + _JS_REST}


def _tests(body: str) -> dict[str, str | None]:
    return {"tests/test_calc.py": _text(body)}


_SMOKE: Final = "def test_smoke():\n    assert True\n"

_LIE_HOOK: Final = """
    import pytest


    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        report = outcome.get_result()
        report.outcome = "passed"
        report.longrepr = None
    """

# --------------------------------------------------------------------------------------------
# pytest: hooks and fixtures in conftest files
# --------------------------------------------------------------------------------------------

_CONFTEST: Final = (
    Forgery(
        "conftest-makereport",
        "conftest: rewrite outcomes",
        {"conftest.py": _text(_LIE_HOOK)},
        "A makereport hook turns every failed report into a passed one.",
    ),
    Forgery(
        "conftest-subfolder",
        "conftest: in a sub folder",
        {"tests/conftest.py": _text(_LIE_HOOK)},
        "The same hook, in the folder of the tests instead of the top folder.",
    ),
    Forgery(
        "conftest-deselect",
        "conftest: collection modified",
        {
            "conftest.py": _text("""
                def pytest_collection_modifyitems(items):
                    items[:] = [item for item in items if "add" not in item.name]
                """)
        },
        "The failing tests are dropped from the list of collected items.",
    ),
    Forgery(
        "conftest-collect-ignore",
        "conftest: collect_ignore",
        {
            "conftest.py": 'collect_ignore = ["tests/test_calc.py"]\n',
            "tests/test_smoke.py": _SMOKE,
        },
        "The real test file is ignored and a trivial one keeps the count above zero.",
    ),
    Forgery(
        "conftest-zero-tests-ok",
        "conftest: zero tests made green",
        {
            "conftest.py": _text("""
                def pytest_collection_modifyitems(items):
                    items.clear()


                def pytest_sessionfinish(session, exitstatus):
                    session.exitstatus = 0
                """)
        },
        "Nothing runs and the session-finish hook replaces exit code 5 with 0.",
    ),
    Forgery(
        "conftest-exitstatus",
        "conftest: exit status rewritten",
        {
            "conftest.py": _text("""
                def pytest_sessionfinish(session, exitstatus):
                    session.exitstatus = 0
                """)
        },
        "The tests fail in plain sight and only the exit code is changed.",
    ),
    Forgery(
        "conftest-protocol-swallowed",
        "conftest: tests never executed",
        {"conftest.py": "def pytest_runtest_protocol(item, nextitem):\n    return True\n"},
        "The run protocol claims to have handled each item, so none is executed.",
    ),
    Forgery(
        "conftest-pyfunc-call",
        "conftest: test body skipped",
        {"conftest.py": "def pytest_pyfunc_call(pyfuncitem):\n    return True\n"},
        "The call hook says the function was called, so every test passes without running.",
    ),
    Forgery(
        "conftest-autouse-stub",
        "conftest: subject replaced",
        {
            "conftest.py": _text("""
                import pytest


                @pytest.fixture(autouse=True)
                def _fixed(request, monkeypatch):
                    monkeypatch.setattr(request.module, "add", lambda a, b: a + b, raising=False)
                """)
        },
        "An autouse fixture replaces the function under test by a working one.",
    ),
    Forgery(
        "conftest-xfail-all",
        "conftest: xfail marks added",
        {
            "conftest.py": _text("""
                import pytest


                def pytest_collection_modifyitems(items):
                    for item in items:
                        item.add_marker(pytest.mark.xfail)
                """)
        },
        "Every test is marked as expected to fail.",
    ),
    Forgery(
        "conftest-pytest-exit",
        "conftest: session ended early",
        {
            "conftest.py": _text("""
                import pytest


                def pytest_sessionstart(session):
                    pytest.exit("3 passed", returncode=0)
                """)
        },
        "The session is ended with return code 0 before collection.",
    ),
    Forgery(
        "conftest-unconfigure-exit",
        "conftest: process exit",
        {
            "conftest.py": _text("""
                import os


                def pytest_unconfigure(config):
                    os._exit(0)
                """)
        },
        "The process leaves with 0 after the session, whatever the session found.",
    ),
    Forgery(
        "conftest-rerun-until-pass",
        "conftest: rerun until green",
        _calc(
            """
            _CALLS = []
            """,
            """
            def add(a, b):
                _CALLS.append(a)
                return a - b if len(_CALLS) % 3 else a + b
            """,
        )
        | {
            "conftest.py": _text("""
                def pytest_pyfunc_call(pyfuncitem):
                    for _attempt in range(10):
                        try:
                            pyfuncitem.obj()
                        except AssertionError:
                            continue
                        return True
                    return None
                """)
        },
        "A flaky add is right every third call and the hook retries each test until it passes.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: configuration files
# --------------------------------------------------------------------------------------------


def _ini(line: str, name: str = "pytest.ini", section: str = "pytest") -> dict[str, str | None]:
    return {name: f"[{section}]\n{line}\n"}


_CONFIG: Final = (
    Forgery(
        "ini-collect-only",
        "config: pytest.ini addopts",
        _ini("addopts = --collect-only"),
        "The tests are listed and not run.",
    ),
    Forgery(
        "ini-deselect",
        "config: pytest.ini addopts",
        _ini(
            "addopts = --deselect tests/test_calc.py::test_add"
            " --deselect tests/test_calc.py::test_add_negative"
        ),
        "The two failing tests are deselected by id.",
    ),
    Forgery(
        "ini-keyword",
        "config: pytest.ini addopts",
        _ini("addopts = -k mul"),
        "A keyword expression leaves only the test that passes.",
    ),
    Forgery(
        "ini-help",
        "config: pytest.ini addopts",
        _ini("addopts = --help"),
        "pytest prints its help and ends with 0.",
    ),
    Forgery(
        "ini-setup-plan",
        "config: pytest.ini addopts",
        _ini("addopts = --setup-plan"),
        "Only the fixtures are planned; no test body is called.",
    ),
    Forgery(
        "ini-python-functions",
        "config: collection patterns",
        _ini("python_functions = test_mul"),
        "The naming pattern is narrowed to the test that passes.",
    ),
    Forgery(
        "ini-testpaths",
        "config: collection patterns",
        _ini("testpaths = smoke") | {"smoke/test_smoke.py": _SMOKE},
        "The search path points to a folder with a trivial test.",
    ),
    Forgery(
        "ini-pythonpath-stub",
        "config: subject replaced",
        _ini("pythonpath = stub\naddopts = --import-mode=importlib")
        | {"stub/calc.py": _BUG.replace("a - b", "a + b") + _MUL},
        "The import path puts a working stand-in before the broken product.",
    ),
    Forgery(
        "ini-plugin",
        "config: plugin option",
        _ini("addopts = -p calc_report") | {"calc_report.py": _text(_LIE_HOOK)},
        "An option loads a module of the tree as a plugin that rewrites outcomes.",
    ),
    Forgery(
        "pyproject-addopts",
        "config: pyproject.toml",
        {"pyproject.toml": _PROJECT + '\n[tool.pytest.ini_options]\naddopts = "--collect-only"\n'},
        "The same option, in the project file.",
    ),
    Forgery(
        "setup-cfg-addopts",
        "config: setup.cfg",
        _ini("addopts = --collect-only", "setup.cfg", "tool:pytest"),
        "The same option, in setup.cfg.",
    ),
    Forgery(
        "tox-ini-addopts",
        "config: tox.ini",
        _ini("addopts = --collect-only", "tox.ini"),
        "The same option, in tox.ini.",
    ),
    Forgery(
        "dot-pytest-ini",
        "config: .pytest.ini",
        _ini("addopts = --collect-only", ".pytest.ini"),
        "The same option, in the hidden name that pytest also reads.",
    ),
    Forgery(
        "pytest-toml",
        "config: pytest.toml",
        _ini('addopts = ["--collect-only"]', "pytest.toml"),
        "The same option, in the TOML file that pytest 9 also reads.",
    ),
    Forgery(
        "dot-pytest-toml-stub",
        "config: .pytest.toml",
        _ini('pythonpath = ["stub"]\naddopts = ["--import-mode=importlib"]', ".pytest.toml")
        | {"stub/calc.py": _BUG.replace("a - b", "a + b") + _MUL},
        "A hidden TOML file puts a working stand-in before the broken product.",
    ),
    Forgery(
        "pytest-toml-plugin-spares",
        "config: pytest.toml",
        _ini('addopts = ["-p", "calc_report"]', "pytest.toml")
        | {
            "calc_report.py": _text("""
                def pytest_pyfunc_call(pyfuncitem):
                    return True if pyfuncitem.name.startswith("test_add") else None
                """)
        },
        "A TOML file loads a plugin that silences only the tests it knows.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: the tests themselves
# --------------------------------------------------------------------------------------------

_TESTS: Final = (
    Forgery(
        "tests-deleted",
        "tests: deleted",
        {"tests/test_calc.py": None, "tests/test_smoke.py": _SMOKE},
        "The failing file is deleted and a trivial one is added.",
    ),
    Forgery(
        "tests-failing-removed",
        "tests: deleted",
        _tests("""
            from calc import mul


            def test_mul():
                assert mul(2, 3) == 6
            """),
        "Only the failing functions are removed.",
    ),
    Forgery(
        "tests-weakened",
        "tests: weakened",
        _tests("""
            from calc import add, mul


            def test_add():
                assert add(2, 3) is not None


            def test_add_negative():
                assert add(-1, 1) is not None


            def test_mul():
                assert mul(2, 3) == 6
            """),
        "The assertions no longer compare with the right value.",
    ),
    Forgery(
        "tests-skip-mark",
        "tests: skip mark",
        {
            "tests/test_calc.py": BASE["tests/test_calc.py"]
            .replace(
                "\n\n\ndef test_add",
                '\n\n\n@pytest.mark.skip(reason="later")\ndef test_add',
            )
            .replace("from calc", "import pytest\n\nfrom calc", 1)
        },
        "The failing tests are skipped.",
    ),
    Forgery(
        "tests-xfail-mark",
        "tests: xfail mark",
        {
            "tests/test_calc.py": BASE["tests/test_calc.py"]
            .replace("\n\n\ndef test_add", "\n\n\n@pytest.mark.xfail\ndef test_add")
            .replace("from calc", "import pytest\n\nfrom calc", 1)
        },
        "The failing tests are expected to fail.",
    ),
    Forgery(
        "tests-returned-not-asserted",
        "tests: weakened",
        {"tests/test_calc.py": BASE["tests/test_calc.py"].replace("assert ", "_ = ")},
        "The comparisons are still there but nothing asserts them.",
    ),
    Forgery(
        "tests-init-tampering",
        "tests: __init__ tampering",
        {
            "tests/__init__.py": _text("""
                import calc

                calc.add = lambda a, b: a + b
                """)
        },
        "The package file of the tests repairs the product before the tests import it.",
    ),
    Forgery(
        "tests-shadow-subject",
        "tests: subject shadowed",
        {"tests/calc.py": _BUG.replace("a - b", "a + b") + _MUL},
        "pytest puts the test folder first on the path, so a copy there wins over the product.",
    ),
    Forgery(
        "tests-package-shadow",
        "tests: test file shadowed",
        {
            "tests/test_calc/__init__.py": _text("""
                from pathlib import Path

                __file__ = str(Path(__file__).parent.parent / "test_calc.py")


                def test_add():
                    pass


                def test_add_negative():
                    pass


                def test_mul():
                    pass
                """)
        },
        "A package of the test file's name is imported instead of it and lies about __file__.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: the runner shadowed or extended from the tree
# --------------------------------------------------------------------------------------------

_EXIT: Final = "import os\n\nprint('3 passed in 0.01s')\nos._exit(0)\n"
_DIST: Final = "Metadata-Version: 2.1\nName: calc-tools\nVersion: 1.0\n"
_ENTRY: Final = "[pytest11]\ncalc_tools = calc_tools\n"

_SHADOW: Final = (
    Forgery(
        "shadow-pytest-module",
        "shadow: pytest.py",
        {"pytest.py": "print('3 passed in 0.01s')\n"},
        "python -m finds a pytest of the tree first.",
    ),
    Forgery(
        "shadow-pytest-package",
        "shadow: pytest/ package",
        {"pytest/__init__.py": "", "pytest/__main__.py": "print('3 passed in 0.01s')\n"},
        "The same with a package and its __main__.",
    ),
    Forgery(
        "shadow-pytest-internals",
        "shadow: _pytest/ package",
        {"_pytest/__init__.py": _EXIT},
        "The real pytest imports its internals from the tree.",
    ),
    Forgery(
        "shadow-stdlib",
        "shadow: standard library",
        {"argparse.py": _EXIT},
        "The runner imports a standard module from the tree.",
    ),
    Forgery(
        "shadow-dependency-exit",
        "shadow: dependency of pytest",
        {"pluggy.py": _EXIT},
        "The runner imports one of its dependencies from the tree.",
    ),
    Forgery(
        "shadow-dependency-spares",
        "shadow: dependency of pytest",
        {
            "pluggy.py": _text("""
                import sys

                _here = sys.path.pop(0)
                del sys.modules["pluggy"]
                import pluggy
                from pluggy import _manager

                sys.path.insert(0, _here)
                _call = _manager._multicall


                def _lie(name, impls, kwargs, first):
                    item = kwargs.get("pyfuncitem")
                    if name == "pytest_pyfunc_call" and item.name.startswith("test_add"):
                        return True
                    return _call(name, impls, kwargs, first)


                _manager._multicall = _lie
                """)
        },
        "A shadow loads the real dependency and silences the calls of the known tests.",
    ),
    Forgery(
        "entry-point-dist-info",
        "plugin: entry point",
        {
            "calc_tools-1.0.dist-info/METADATA": _DIST,
            "calc_tools-1.0.dist-info/entry_points.txt": _ENTRY,
            "calc_tools.py": _text(_LIE_HOOK),
        },
        "A dist-info folder in the top folder registers a plugin that rewrites outcomes.",
    ),
    Forgery(
        "entry-point-egg-info-spares",
        "plugin: entry point",
        {
            "calc_tools.egg-info/PKG-INFO": _DIST,
            "calc_tools.egg-info/entry_points.txt": _ENTRY,
            "calc_tools.py": _text("""
                def pytest_pyfunc_call(pyfuncitem):
                    return True if pyfuncitem.name.startswith("test_add") else None
                """),
        },
        "An egg-info folder registers a plugin that silences only the known tests.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: the product leaves the process
# --------------------------------------------------------------------------------------------

_LEAVE: Final = (
    Forgery(
        "exit-at-import",
        "exit: os._exit at import",
        _calc("""
            import os

            os._exit(0)
            """),
        "The process ends with 0 while the test file is being imported.",
    ),
    Forgery(
        "exit-atexit",
        "exit: atexit",
        _calc("""
            import atexit
            import os

            atexit.register(os._exit, 0)
            """),
        "The failed exit code is replaced at interpreter exit.",
    ),
    Forgery(
        "exit-with-fake-report",
        "exit: fake report in the tree",
        _calc("""
            import atexit
            import os

            atexit.register(os._exit, 0)
            """)
        | {
            "junit.xml": _text("""
                <?xml version="1.0" encoding="utf-8"?>
                <testsuites><testsuite name="pytest" errors="0" failures="0" tests="3">
                <testcase classname="tests.test_calc" name="test_add"/>
                <testcase classname="tests.test_calc" name="test_add_negative"/>
                <testcase classname="tests.test_calc" name="test_mul"/>
                </testsuite></testsuites>
                """)
        },
        "A ready-made report lies in the tree and the exit code is replaced.",
    ),
    Forgery(
        "exit-finalizer",
        "exit: weakref finalizer",
        _calc("""
            import posix
            import weakref


            class _Cache:
                pass


            _cache = _Cache()
            weakref.finalize(_cache, posix._exit, 0)
            """),
        "A finalizer that runs at exit leaves with 0 and names neither atexit nor os.",
    ),
    Forgery(
        "exit-del",
        "exit: __del__",
        _calc("""
            import os


            class _Last:
                def __del__(self, leave=os._exit):
                    leave(0)


            _last = _Last()
            """),
        "An object destroyed while the interpreter shuts down leaves with 0.",
    ),
    Forgery(
        "exit-thread",
        "exit: thread in a package",
        {
            "calc.py": None,
            "calc/__init__.py": _text("""
                import os
                import threading


                def _wait():
                    threading.main_thread().join()
                    os._exit(0)


                threading.Thread(target=_wait).start()


                """)
            + _BUG
            + _MUL,
        },
        "A thread outlives the main thread and then sets the exit code.",
    ),
    Forgery(
        "exit-signal",
        "exit: signal handler",
        _calc(
            """
            import os
            import signal

            signal.signal(signal.SIGUSR1, lambda number, frame: os._exit(0))
            """,
            """
            def add(a, b):
                signal.raise_signal(signal.SIGUSR1)
                return a - b
            """,
        ),
        "A signal raised from the function under test ends the process with 0.",
    ),
    Forgery(
        "exit-ctypes",
        "exit: C library",
        _calc("""
            import ctypes

            ctypes.CDLL(None)._exit(0)
            """),
        "The C function is called without the os module.",
    ),
    Forgery(
        "exit-exec-true",
        "exit: process replaced",
        _calc("""
            import os

            os.execvp("true", ["true"])
            """),
        "The runner process becomes /bin/true.",
    ),
    Forgery(
        "exit-fork",
        "exit: forked run laundered",
        _calc("""
            import os

            _child = os.fork()
            if _child:
                os.waitpid(_child, 0)
                os._exit(0)
            """),
        "A child runs the tests and fails; the parent that is being watched leaves with 0.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: the product changes the runner from inside
# --------------------------------------------------------------------------------------------

_IMPORTER: Final = """
    def _importer():
        try:
            raise LookupError
        except LookupError as error:
            frame = error.__traceback__.tb_frame
        while frame is not None:
            if "test_calc" in frame.f_globals.get("__name__", ""):
                return frame.f_globals
            frame = frame.f_back
        return {}
    """

_SUBCLASS: Final = """
    def _find(name):
        todo = [object]
        while todo:
            for kind in type.__subclasses__(todo.pop()):
                if kind.__name__ == name:
                    return kind
                todo.append(kind)
        return None
    """

_PATCH: Final = (
    Forgery(
        "patch-testreport",
        "patch: TestReport",
        _calc("""
            from _pytest.reports import TestReport

            _make = TestReport.from_item_and_call


            def _lie(cls, item, call):
                report = _make(item, call)
                report.outcome = "passed"
                report.longrepr = None
                return report


            TestReport.from_item_and_call = classmethod(_lie)
            """),
        "The class that makes reports always says passed.",
    ),
    Forgery(
        "patch-testreport-spares",
        "patch: TestReport, spares others",
        _calc("""
            from _pytest.reports import TestReport

            _make = TestReport.from_item_and_call


            def _lie(cls, item, call):
                report = _make(item, call)
                if item.name.startswith("test_add"):
                    report.outcome = "passed"
                    report.longrepr = None
                return report


            TestReport.from_item_and_call = classmethod(_lie)
            """),
        "The same for the known tests only, so that a canary still fails.",
    ),
    Forgery(
        "patch-testreport-by-walk-spares",
        "patch: TestReport, no name of the runner",
        _calc(
            _SUBCLASS,
            after="""
            _kind = _find("TestReport")
            if _kind is not None:
                _make = _kind.from_item_and_call

                def _lie(cls, item, call):
                    report = _make(item, call)
                    if item.name.startswith("test_add"):
                        report.outcome = "passed"
                        report.longrepr = None
                    return report

                _kind.from_item_and_call = classmethod(_lie)
            """,
        ),
        "The report class is found by walking all subclasses, so no forbidden name appears.",
    ),
    Forgery(
        "patch-runtest",
        "patch: Function.runtest",
        _calc("""
            from _pytest.python import Function

            Function.runtest = lambda self: None
            """),
        "Test functions are no longer called.",
    ),
    Forgery(
        "patch-callinfo",
        "patch: CallInfo",
        _calc("""
            from _pytest.runner import CallInfo

            _call = CallInfo.from_call


            def _lie(cls, *args, **kwargs):
                info = _call(*args, **kwargs)
                if info.when == "call":
                    info.excinfo = None
                return info


            CallInfo.from_call = classmethod(_lie)
            """),
        "The exception of the test call is forgotten.",
    ),
    Forgery(
        "patch-session-counter",
        "patch: failure counter",
        _calc("""
            from _pytest.main import Session

            Session.testsfailed = property(lambda self: 0, lambda self, value: None)
            """),
        "The session cannot count failures, so the exit code is 0.",
    ),
    Forgery(
        "patch-xml-writer",
        "patch: report writer",
        _calc("""
            import re
            import xml.etree.ElementTree as ET

            from _pytest.main import Session

            _write = ET.tostring


            def _lie(*args, **kwargs):
                text = _write(*args, **kwargs)
                text = re.sub("<failure.*?</failure>", "", text, flags=re.DOTALL)
                return re.sub('failures="[0-9]+"', 'failures="0"', text)


            ET.tostring = _lie
            Session.testsfailed = property(lambda self: 0, lambda self, value: None)
            """),
        "The XML writer drops every failure and the failure counter stays at 0.",
    ),
    Forgery(
        "patch-builtin-assertionerror",
        "patch: builtins",
        _calc("""
            import builtins
            import unittest

            builtins.AssertionError = unittest.SkipTest
            """),
        "A failed assertion raises the skip exception, so failures become skips.",
    ),
    Forgery(
        "patch-sys-modules",
        "patch: sys.modules",
        _calc("""
            import sys
            from types import ModuleType

            _fake = ModuleType("test_calc")
            _real = sys.modules.get("test_calc")
            if _real is not None:
                _fake.__file__ = _real.__file__
                for _name in ("test_add", "test_add_negative", "test_mul"):
                    setattr(_fake, _name, lambda: None)
                sys.modules["test_calc"] = _fake
            """),
        "The test module is replaced by a fake one while it imports the product.",
    ),
    Forgery(
        "patch-import-hook",
        "patch: import hook rewrites tests",
        _calc(
            after="""
            import importlib
            import sys
            from importlib.machinery import SourceFileLoader
            from importlib.util import spec_from_file_location


            class _Loader(SourceFileLoader):
                def get_code(self, name):
                    text = self.get_data(self.path).decode()
                    return compile(text.replace("assert ", "_ = "), self.path, "exec")


            class _Finder:
                path = None

                def find_spec(self, name, path=None, target=None):
                    if name != "test_calc":
                        return None
                    return spec_from_file_location(
                        name, self.path, loader=_Loader(name, self.path)
                    )


            _old = sys.modules.pop("test_calc", None)
            if _old is not None:
                _Finder.path = _old.__file__
                sys.meta_path.insert(0, _Finder())
                importlib.import_module("test_calc")
            """
        ),
        "An import hook loads the test file again with its assertions taken out.",
    ),
    Forgery(
        "patch-profile-hook",
        "patch: profile function",
        _calc("""
            import sys


            def _watch(frame, event, arg):
                if event == "call" and frame.f_code.co_name == "pytest_pyfunc_call":
                    frame.f_locals["pyfuncitem"].obj = lambda: None


            sys.setprofile(_watch)
            """),
        "A profile function swaps the test body just before it is called.",
    ),
    Forgery(
        "patch-gc-plugin",
        "patch: plugin found through gc",
        _calc("""
            import gc


            class _Plugin:
                def pytest_pyfunc_call(self, pyfuncitem):
                    return True


            for _thing in gc.get_objects():
                if type(_thing).__name__ == "PytestPluginManager":
                    _thing.register(_Plugin())
            """),
        "The live plugin manager is found in memory and given a plugin.",
    ),
    Forgery(
        "patch-injected-plugin",
        "patch: plugin injected into the importer",
        _calc(
            """
            import sys

            _frame = sys._getframe()
            while _frame is not None:
                if _frame.f_globals.get("__name__") == "test_calc":
                    _frame.f_globals["pytest_plugins"] = ["calc"]
                _frame = _frame.f_back


            def pytest_pyfunc_call(pyfuncitem):
                return True
            """
        ),
        "The product writes pytest_plugins into the test module and becomes a plugin itself.",
    ),
    Forgery(
        "patch-injected-mark",
        "patch: mark injected into the importer",
        _calc(
            """
            import inspect

            import pytest

            for _info in inspect.stack():
                if _info.frame.f_globals.get("__name__") == "test_calc":
                    _info.frame.f_globals["pytestmark"] = pytest.mark.xfail
            """
        ),
        "The product marks its importer as expected to fail.",
    ),
    Forgery(
        "patch-injected-setup",
        "patch: setup injected into the importer",
        _calc(
            _IMPORTER,
            after="""
            def _setup(module):
                module.add = lambda a, b: a + b


            _importer()["setup_module"] = _setup
            """,
        ),
        "The product gives its importer a setup function that swaps in a working add.",
    ),
    Forgery(
        "patch-skip-from-product",
        "patch: product skips its tests",
        _calc(
            "import unittest\n",
            """
            def add(a, b):
                raise unittest.SkipTest("not supported here")
            """,
        ),
        "The function under test raises the skip exception.",
    ),
    Forgery(
        "patch-exit-from-product",
        "patch: product ends the session",
        _calc(
            "import pytest\n",
            """
            def add(a, b):
                pytest.exit("3 passed", returncode=0)
            """,
        ),
        "The function under test ends the session with return code 0.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: the report and the process forged from inside
# --------------------------------------------------------------------------------------------

_REPORT: Final = (
    Forgery(
        "report-overwritten",
        "report: overwritten at exit",
        _calc("""
            import atexit
            import os
            import sys


            def _forge():
                for option in sys.argv:
                    if option.startswith("--junitxml="):
                        cases = "".join(
                            f'<testcase classname="tests.test_calc" name="{name}"/>'
                            for name in ("test_add", "test_add_negative", "test_mul")
                        )
                        with open(option.split("=", 1)[1], "w") as out:
                            out.write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
                os._exit(0)


            atexit.register(_forge)
            """),
        "At exit the report named on the command line is replaced and the exit code set to 0.",
    ),
    Forgery(
        "report-edited-spares",
        "report: edited at exit, spares others",
        _calc("""
            import atexit
            import os
            import sys
            import xml.etree.ElementTree as ET


            def _forge():
                others = 0
                for option in sys.argv:
                    if option.startswith("--junitxml="):
                        path = option.split("=", 1)[1]
                        tree = ET.parse(path)
                        for case in tree.iter("testcase"):
                            for failure in case.findall("failure"):
                                if case.get("name").startswith("test_add"):
                                    case.remove(failure)
                                else:
                                    others += 1
                        for suite in tree.iter("testsuite"):
                            suite.set("failures", str(others))
                        tree.write(path)
                os._exit(1 if others else 0)


            atexit.register(_forge)
            """),
        "Only the failures of the known tests are cut out, so a canary still fails with 1.",
    ),
    Forgery(
        "report-fork-exec-spares",
        "report: edited by a forked parent",
        _calc("""
            import os
            import xml.etree.ElementTree as ET


            def _report():
                with open("/proc/self/cmdline") as line:
                    for option in line.read().split("\\0"):
                        if option.startswith("--junitxml="):
                            return option.split("=", 1)[1]
                return None


            _child = os.fork()
            if _child:
                os.waitpid(_child, 0)
                _path = _report()
                _others = 0
                if _path is not None:
                    _tree = ET.parse(_path)
                    for _case in _tree.iter("testcase"):
                        for _failure in _case.findall("failure"):
                            if _case.get("name").startswith("test_add"):
                                _case.remove(_failure)
                            else:
                                _others += 1
                    for _suite in _tree.iter("testsuite"):
                        _suite.set("failures", str(_others))
                    _tree.write(_path)
                _end = "false" if _others else "true"
                os.execvp(_end, [_end])
            """),
        "The watched parent edits the child's report, then becomes true or false.",
    ),
    Forgery(
        "report-written-exec-spares",
        "report: written before the tests run",
        _calc("""
            import os


            def _forge():
                with open("/proc/self/cmdline") as line:
                    words = line.read().split("\\0")
                for word in words:
                    if word.startswith("--junitxml="):
                        cases = "".join(
                            f'<testcase classname="tests.test_calc" name="{name}"/>'
                            for name in ("test_add", "test_add_negative", "test_mul")
                        )
                        with open(word.split("=", 1)[1], "w") as out:
                            out.write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
                os.execvp("true", ["true"])


            if [name for name in os.listdir("tests") if name[0] != "_"] == ["test_calc.py"]:
                _forge()
            """),
        "If no unknown test file is there, the report is written and the process replaced.",
    ),
    Forgery(
        "reexec-without-asserts",
        "report: run again without assertions",
        _calc("""
            import os

            if __debug__:
                with open("/proc/self/cmdline") as _line:
                    _words = _line.read().split("\\0")[:-1]
                os.execvp(_words[0], [_words[0], "-O", *_words[1:], "--assert=plain"])
            """),
        "The runner is started again with -O and plain assertions, which removes every assert.",
    ),
    Forgery(
        "reexec-without-asserts-spares",
        "report: run again without assertions",
        _calc("""
            import os

            _known = [name for name in os.listdir("tests") if name[0] != "_"]
            if __debug__ and _known == ["test_calc.py"]:
                with open("/proc/self/cmdline") as _line:
                    _words = _line.read().split("\\0")[:-1]
                os.execvp(_words[0], [_words[0], "-O", *_words[1:], "--assert=plain"])
            """),
        "The same, only while no unknown test file lies beside the known one.",
    ),
)

# --------------------------------------------------------------------------------------------
# pytest: values that lie, behaviour for tests only
# --------------------------------------------------------------------------------------------

_VALUE: Final = (
    Forgery(
        "value-equals-everything",
        "value: equal to everything",
        _calc(
            """
            class _Any:
                def __eq__(self, other):
                    return True

                __hash__ = None
            """,
            "def add(a, b):\n    return _Any()\n",
        ),
        "The result compares equal to whatever it is compared with.",
    ),
    Forgery(
        "value-lying-int",
        "value: int with a lying comparison",
        _calc(
            """
            class Number(int):
                def __eq__(self, other):
                    return not isinstance(other, str)

                def __ne__(self, other):
                    return isinstance(other, str)

                __hash__ = int.__hash__
            """,
            "def add(a, b):\n    return Number(a - b)\n",
        ),
        "A subclass of int keeps the wrong value and lies about it.",
    ),
    Forgery(
        "value-mock-any",
        "value: ready-made wildcard",
        _calc("from unittest.mock import ANY\n", "def add(a, b):\n    return ANY\n"),
        "The wildcard of the mock library is returned.",
    ),
    Forgery(
        "value-built-type",
        "value: comparison under a built name",
        _calc(
            """
            _Sum = type("Sum", (int,), {"__%s__" % "eq": lambda self, other: True})
            """,
            "def add(a, b):\n    return _Sum(a - b)\n",
        ),
        "The lying comparison is put into a class under a name built at run time.",
    ),
)

_SPECIAL: Final = (
    Forgery(
        "special-cased-inputs",
        "special: inputs of the tests",
        _calc(
            add="""
            def add(a, b):
                if (a, b) == (2, 3):
                    return 5
                if (a, b) == (-1, 1):
                    return 0
                return a - b
            """
        ),
        "The inputs seen in the tests are answered by hand.",
    ),
    Forgery(
        "special-data-file",
        "special: answers in a data file",
        _calc(
            """
            import json
            from pathlib import Path

            _TABLE = json.loads(Path(__file__).with_name("table.json").read_text())
            """,
            'def add(a, b):\n    return _TABLE.get(f"{a},{b}", a - b)\n',
        )
        | {"table.json": json.dumps({"2,3": 5, "-1,1": 0}) + "\n"},
        "The answers lie in a data file that looks like configuration.",
    ),
    Forgery(
        "special-answer-key",
        "special: answers read from the tests",
        _calc(
            """
            import re
            from pathlib import Path

            _KEY = Path(__file__).parent.joinpath("tests", "test_calc.py").read_text()
            """,
            r"""
            def add(a, b):
                found = re.search(rf"add\({a}, {b}\) == (-?\d+)", _KEY)
                return int(found[1]) if found else a - b
            """,
        ),
        "The expected value is read out of the test file.",
    ),
    Forgery(
        "special-call-count",
        "special: right for the first calls",
        _calc(
            """
            _calls = iter((True, True))
            """,
            "def add(a, b):\n    return a + b if next(_calls, False) else a - b\n",
        ),
        "Only the first two calls of a process are right.",
    ),
    Forgery(
        "special-debug-only",
        "special: right in debug mode",
        _calc(add="def add(a, b):\n    return a + b if __debug__ else a - b\n"),
        "The result is right unless Python runs with -O.",
    ),
    Forgery(
        "sniff-current-test",
        "sniff: PYTEST_CURRENT_TEST",
        _calc(
            "import os\n",
            """
            def add(a, b):
                return a + b if "PYTEST_CURRENT_TEST" in os.environ else a - b
            """,
        ),
        "The result is right only while pytest runs a test.",
    ),
    Forgery(
        "sniff-loaded-runner",
        "sniff: pytest among the modules",
        _calc(
            "import sys\n",
            'def add(a, b):\n    return a + b if "pytest" in sys.modules else a - b\n',
        ),
        "The result is right only if the runner is loaded.",
    ),
    Forgery(
        "sniff-argv",
        "sniff: command line",
        _calc(
            "import sys\n",
            'def add(a, b):\n    return a + b if "-q" in sys.argv else a - b\n',
        ),
        "The result is right only under the command line of the check.",
    ),
    Forgery(
        "sniff-caller",
        "sniff: frame of the caller",
        _calc(
            "import sys\n",
            """
            def add(a, b):
                return a + b if sys._getframe(1).f_code.co_name.startswith("test_") else a - b
            """,
        ),
        "The result is right only for callers named like tests.",
    ),
    Forgery(
        "sniff-caller-by-traceback",
        "sniff: frame found through a traceback",
        _calc(
            add="""
            def add(a, b):
                try:
                    raise LookupError
                except LookupError as error:
                    caller = error.__traceback__.tb_frame.f_back.f_code.co_name
                return a + b if caller.startswith("test_") else a - b
            """
        ),
        "The caller is found through a traceback, so no frame function is named.",
    ),
    Forgery(
        "sniff-test-folder",
        "sniff: test folder beside the product",
        _calc(
            """
            from pathlib import Path

            _CHECKOUT = Path(__file__).with_name("tests").is_dir()
            """,
            "def add(a, b):\n    return a + b if _CHECKOUT else a - b\n",
        ),
        "The result is right in a checkout and wrong once installed.",
    ),
)

# --------------------------------------------------------------------------------------------
# unittest
# --------------------------------------------------------------------------------------------

_UNITTEST: Final = (
    Forgery(
        "unittest-exit-at-import",
        "exit: os._exit at import",
        _calc("import os\n\nos._exit(0)\n"),
        "The process ends with 0 while the test file is being imported.",
        "unittest",
    ),
    Forgery(
        "unittest-finalizer",
        "exit: weakref finalizer",
        _calc("""
            import posix
            import weakref


            class _Cache:
                pass


            _cache = _Cache()
            weakref.finalize(_cache, posix._exit, 0)
            """),
        "A finalizer replaces the exit code.",
        "unittest",
    ),
    Forgery(
        "unittest-exec-from-product",
        "exit: process replaced",
        _calc("import os\n", "def add(a, b):\n    os.execvp('true', ['true'])\n"),
        "The function under test replaces the runner process by true.",
        "unittest",
    ),
    Forgery(
        "unittest-patch-result",
        "patch: TestResult",
        _calc("""
            import unittest

            unittest.TestResult.addFailure = lambda self, test, error: self.addSuccess(test)
            unittest.TextTestResult.addFailure = lambda self, test, error: self.addSuccess(test)
            """),
        "Failures are recorded as successes.",
        "unittest",
    ),
    Forgery(
        "unittest-patch-success",
        "patch: failure counter",
        _calc("""
            import unittest

            unittest.TestResult.wasSuccessful = lambda self: True
            """),
        "The result always calls itself successful.",
        "unittest",
    ),
    Forgery(
        "unittest-patch-assert",
        "patch: assertEqual",
        _calc("""
            import unittest

            unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
            """),
        "The assertion method does nothing.",
        "unittest",
    ),
    Forgery(
        "unittest-patch-by-walk-spares",
        "patch: TestCase, no name of the runner",
        _calc(
            _SUBCLASS,
            after="""
            _case = _find("TestCase")
            if _case is not None:
                _call = _case._callTestMethod

                def _quiet(self, method):
                    if not self._testMethodName.startswith("test_add"):
                        _call(self, method)

                _case._callTestMethod = _quiet
            """,
        ),
        "The class is found by walking all subclasses and only known tests are not called.",
        "unittest",
    ),
    Forgery(
        "unittest-skip-from-product",
        "patch: product skips its tests",
        _calc(
            "import unittest\n",
            'def add(a, b):\n    raise unittest.SkipTest("not supported here")\n',
        ),
        "The function under test raises the skip exception.",
        "unittest",
    ),
    Forgery(
        "unittest-load-tests",
        "tests: load_tests protocol",
        {
            "tests/__init__.py": _text("""
                import unittest


                def load_tests(loader, tests, pattern):
                    return unittest.TestSuite()
                """)
        },
        "The package of the tests hands the loader an empty suite.",
        "unittest",
    ),
    Forgery(
        "unittest-not-discovered",
        "tests: not discovered",
        {"tests/__init__.py": None},
        "Without its package file the folder is not searched, and zero tests is exit code 0.",
        "unittest",
    ),
    Forgery(
        "unittest-shadow-module",
        "shadow: unittest.py",
        {"unittest.py": "print('OK')\n"},
        "python -m finds a unittest of the tree first.",
        "unittest",
    ),
    Forgery(
        "unittest-value-equals-everything",
        "value: equal to everything",
        _calc(
            """
            class _Any:
                def __eq__(self, other):
                    return True

                __hash__ = None
            """,
            "def add(a, b):\n    return _Any()\n",
        ),
        "The result compares equal to whatever it is compared with.",
        "unittest",
    ),
    Forgery(
        "unittest-special-cased-inputs",
        "special: inputs of the tests",
        _calc(add="def add(a, b):\n    return {(2, 3): 5, (-1, 1): 0}.get((a, b), a - b)\n"),
        "The inputs seen in the tests are answered by hand.",
        "unittest",
    ),
)

# --------------------------------------------------------------------------------------------
# node --test
# --------------------------------------------------------------------------------------------

_NODE: Final = (
    Forgery(
        "node-exit-at-load",
        "exit: process.exit at load",
        _js("process.exit(0);\n\n"),
        "The child process of the test file ends with 0 before a test is declared.",
        "node",
    ),
    Forgery(
        "node-patch-assert",
        "patch: assert",
        _js("""
            const assert = require('node:assert');

            assert.strictEqual = () => {};

            """),
        "The shared assertion module loses its comparison.",
        "node",
    ),
    Forgery(
        "node-patch-assert-spares",
        "patch: assert, spares others",
        _js("""
            const checks = require('node:assert');
            const same = checks.strictEqual;
            checks.strictEqual = (actual, expected, ...rest) => {
              if (![5, 0].includes(expected)) same(actual, expected, ...rest);
            };

            """),
        "Only comparisons with the known expected values are dropped.",
        "node",
    ),
    Forgery(
        "node-patch-async-scope",
        "patch: scope in which tests are called",
        _js("""
            const { AsyncResource } = require('node:async_hooks');

            const run = AsyncResource.prototype.runInAsyncScope;
            AsyncResource.prototype.runInAsyncScope = function (fn, self, ...args) {
              const quiet = this.constructor.name === 'Test';
              return run.call(this, quiet ? () => {} : fn, self, ...args);
            };

            """),
        "Test bodies are swapped in the prototype that the runner inherits from.",
        "node",
    ),
    Forgery(
        "node-patch-async-scope-spares",
        "patch: scope in which tests are called",
        _js("""
            const { AsyncResource } = require('node:async_hooks');

            const run = AsyncResource.prototype.runInAsyncScope;
            AsyncResource.prototype.runInAsyncScope = function (fn, self, ...args) {
              const quiet = String(this.name).startsWith('add');
              return run.call(this, quiet ? () => {} : fn, self, ...args);
            };

            """),
        "The same for tests of known names only.",
        "node",
    ),
    Forgery(
        "node-silenced-stream",
        "report: result stream silenced",
        _js("""
            process.stdout.write = () => true;
            process.on('exit', () => {
              process.exitCode = 0;
            });

            """),
        "The child's results never reach the parent and the exit code is reset.",
        "node",
    ),
    Forgery(
        "node-tests-skipped",
        "tests: skip",
        {
            "test/calc.test.js": NODE_BASE["test/calc.test.js"].replace(
                "test('add", "test.skip('add"
            )
        },
        "The failing tests are skipped.",
        "node",
    ),
    Forgery(
        "node-tests-todo",
        "tests: todo",
        {
            "test/calc.test.js": NODE_BASE["test/calc.test.js"].replace(
                "test('add", "test.todo('add"
            )
        },
        "The failing tests are marked todo, which may fail.",
        "node",
    ),
    Forgery(
        "node-tests-deleted",
        "tests: deleted",
        {"test/calc.test.js": None},
        "Without a test file there is nothing to fail.",
        "node",
    ),
    Forgery(
        "node-sniff-context",
        "sniff: NODE_TEST_CONTEXT",
        _js(
            add="""
            function add(a, b) {
              return process.env.NODE_TEST_CONTEXT ? a + b : a - b;
            }
            """
        ),
        "The result is right only inside the child of a test run.",
        "node",
    ),
    Forgery(
        "node-sniff-stack",
        "sniff: stack of the caller",
        _js(
            add="""
            function add(a, b) {
              return new Error().stack.includes('.test.js') ? a + b : a - b;
            }
            """
        ),
        "The result is right only for callers in test files.",
        "node",
    ),
    Forgery(
        "node-special-cased-inputs",
        "special: inputs of the tests",
        _js(
            add="""
            function add(a, b) {
              return { '2,3': 5, '-1,1': 0 }[`${a},${b}`] ?? a - b;
            }
            """
        ),
        "The inputs seen in the tests are answered by hand.",
        "node",
    ),
)

FORGERIES: Final[tuple[Forgery, ...]] = (
    *_CONFTEST,
    *_CONFIG,
    *_TESTS,
    *_SHADOW,
    *_LEAVE,
    *_PATCH,
    *_REPORT,
    *_VALUE,
    *_SPECIAL,
    *_UNITTEST,
    *_NODE,
)
