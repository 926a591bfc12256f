"""The surface. A command parses, calls one function, shows the result.

Output goes to stdout, talk to stderr. This module is the only one that catches everything.
"""

import os
import re
import signal
import sys
from pathlib import Path

import click

from controller.cli.commands import COMMANDS, Commands
from controller.cli.ending import Terminated, at_once
from controller.core.errors import EXIT_CODES, ControllerError, SetupError


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "--directory", "folder", default=".", metavar="DIR",
              help="Work in the repository around DIR.")
@click.version_option(package_name="oneshot-controller")
@click.pass_context
def oneshot(context: click.Context, folder: str) -> None:
    """Run a coding task through fresh one-shot model calls until it is proved done."""
    context.obj = Path(folder)


def main() -> None:
    """The `oneshot` command: run it and exit with one of EXIT_CODES."""
    _open_what_is_closed()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, at_once)
    code = _run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        code = code or 1
        sys.stdout = None
    sys.exit(code)


def _open_what_is_closed() -> None:
    """A file of ours must not get the number of a standard stream that we were started without."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (stays open)


def _run(args: list[str]) -> int:
    from controller.cli.install import check_install

    try:
        check_install()
        _check_arguments(args)
        code = oneshot.main(args, prog_name="oneshot", standalone_mode=False)
    except click.ClickException as fault:
        return _say(fault.format_message(), 2, args)
    except ControllerError as fault:
        return _say(str(fault), fault.exit_code, args)
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _say("interrupted; `oneshot resume` goes on", 130, args)
    except Terminated as asked:
        code = int(str(asked))
        what = "interrupted" if code == 130 else "terminated"
        return _say(f"{what}; `oneshot resume` goes on", code, args)
    except Exception as fault:  # noqa: BLE001  (the one place that answers for everything else)
        return _fault(fault, args)
    return code if isinstance(code, int) else 0


def _check_arguments(args: list[str]) -> None:
    if sys.getfilesystemencoding() != "utf-8":
        raise SetupError("file names are not UTF-8 here; set PYTHONUTF8=1 in the environment")
    for arg in args:
        if not arg.isascii() and any("\udc80" <= char <= "\udcff" for char in arg):
            raise SetupError(f"expected UTF-8 on the command line, got {arg!r}")


def _say(message: str, code: int, args: list[str]) -> int:
    """Tell a fault to a person, and as JSON to a program that asked for JSON."""
    placed = ":1:1:" in message or bool(re.search(r":\d+:\d+: ", message))
    click.echo(_plain(message if placed else f"oneshot: {message}"), err=True)
    if "--json" in args:
        import json

        click.echo(json.dumps({"schema": "oneshot/error@1", "exit_code": code,
                               "meaning": EXIT_CODES.get(code, ""), "message": message}))
    return code


def _plain(text: str) -> str:
    from controller.core.redact import printable

    return printable(text.encode("utf-8", "backslashreplace").decode())


def _fault(fault: Exception, args: list[str]) -> int:
    if isinstance(fault, BrokenPipeError):
        return 1  # whoever read our output has gone
    if isinstance(fault, OSError) or "closed file" in str(fault):
        return _say(f"the machine refused: {fault}", 1, args)
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="oneshot-bug-", suffix=".log", delete=False,
                                     encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"oneshot {args}\n\n")
        log.writelines(traceback.format_exception(fault))
    return _say(f"this is a bug in oneshot: {type(fault).__name__}: {fault}; the log is "
                f"{log.name}", 70, args)


__all__ = ["COMMANDS", "main", "oneshot"]
