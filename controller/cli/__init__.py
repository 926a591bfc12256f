"""The surface. A command parses, calls one function, shows the result.

Output goes to stdout, talk to stderr. This module is the only one that catches everything.
"""

import sys

import click

from controller.cli.commands import COMMANDS, Commands
from controller.core.errors import EXIT_CODES, ControllerError


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "--directory", "folder", default=".", metavar="DIR",
              help="Work in the repository around DIR.")
@click.version_option(package_name="oneshot-controller")
@click.pass_context
def oneshot(context: click.Context, folder: str) -> None:
    """Run a coding task through fresh one-shot model calls until it is proved done."""
    from pathlib import Path

    context.obj = Path(folder)


def main() -> None:
    """The `oneshot` command: run it and exit with one of EXIT_CODES."""
    sys.exit(_run(sys.argv[1:]))


def _run(args: list[str]) -> int:  # noqa: PLR0911  (one return a kind of end)
    from controller.cli.install import check_install

    try:
        check_install()
        code = oneshot.main(args, prog_name="oneshot", standalone_mode=False)
    except click.exceptions.Abort:
        return _say("interrupted; `oneshot resume` goes on", 130, args)
    except click.ClickException as fault:
        fault.show()
        return 2
    except ControllerError as fault:
        return _say(str(fault), fault.exit_code, args)
    except KeyboardInterrupt:
        return _say("interrupted; `oneshot resume` goes on", 130, args)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as fault:  # noqa: BLE001  (the one place that answers for bugs)
        return _bug(fault, args)
    return code if isinstance(code, int) else 0


def _say(message: str, code: int, args: list[str]) -> int:
    """Tell a fault to a person, and as JSON to a program that asked for JSON."""
    click.echo(f"oneshot: {message}", err=True)
    if "--json" in args:
        import json

        click.echo(json.dumps({"schema": "oneshot/error@1", "exit_code": code,
                               "meaning": EXIT_CODES[code], "message": message}))
    return code


def _bug(fault: Exception, args: list[str]) -> int:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="oneshot-bug-", suffix=".log", delete=False,
                                     encoding="utf-8") as log:
        log.write(f"oneshot {args}\n\n")
        log.writelines(traceback.format_exception(fault))
    return _say(f"this is a bug in oneshot: {type(fault).__name__}: {fault}; the log is "
                f"{log.name}", 70, args)


__all__ = ["COMMANDS", "main", "oneshot"]
