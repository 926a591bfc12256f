"""The model interfaces as this machine has them: the program, its version, a key or a login."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.cli.wiring import adapter_named, adapter_names
from controller.core.errors import ControllerError
from controller.process import capture
from controller.settings import Settings


@dataclass(frozen=True, slots=True)
class Interface:
    """One model interface. `usable` None: it can't be told without a configuration; `by` says what
    it would be reached with.
    """

    name: str
    usable: bool | None
    program: str
    version: str
    known: str
    by: str


def interfaces(settings: Settings) -> Iterator[Interface]:
    """Every model interface that is installed."""
    for name in adapter_names():
        adapter = adapter_named(name)
        version = version_of(settings, adapter.program) if adapter.program else ""
        held = [key for key in adapter.keys if key in settings.keys]
        login = bool(adapter.login) and (settings.home / adapter.login).is_file()
        by = _by(held, adapter.keys, login=login, program=bool(adapter.program))
        usable = bool((held or login) and (version or not adapter.program)) or (
            None if not adapter.keys else False)
        yield Interface(name, usable, adapter.program, version, adapter.known, by)


def version_of(settings: Settings, program: str) -> str:
    """What a program says of its version; empty: it is not there, or says nothing."""
    binary = settings.find(program)
    if not binary:
        return ""
    try:
        said = capture([binary, "--version"], cwd=Path("/"), timeout=20,
                       env={"PATH": settings.path, "HOME": "/nonexistent"})
    except ControllerError:
        return ""
    text = (said.stdout or said.stderr).decode("utf-8", "replace").strip()
    return text.split("\n")[0] if said.exit == 0 else ""


def _by(held: list[str], keys: tuple[str, ...], *, login: bool, program: bool) -> str:
    if held:  # a key beats a login, in the programs as well
        return f"the key in {held[0]}" + (", not the login" if login else "")
    if login:
        return "the login of its own"
    if not keys:
        return "what config.yaml says"
    return f"no key: set {' or '.join(keys)}" + (", or log in" if program else "")
