"""The routes that a configuration names. What is secret in it is the name of a variable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.core.canonical import JsonObject, JsonValue, entries, members, texts
from controller.core.errors import SetupError
from controller.notify.routes import Apprise, CommandRoute, Forge, Ntfy, Route, Webhook

_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_RUNTIME_DIR",
           "DBUS_SESSION_BUS_ADDRESS")
"""What the user's own command finds of his environment; the rest he names under `variables`."""


def routes(notify: JsonObject, variables: Mapping[str, str], root: Path) -> tuple[Route, ...]:
    """Every route of the `notify` of a configuration. Raises SetupError for an unset variable."""
    here = _Here(notify, variables, root)
    return tuple(make(here, entries(notify[name])) for name, make in _KINDS.items()
                 if name in notify)


@dataclass(frozen=True, slots=True)
class _Here:
    notify: JsonObject
    variables: Mapping[str, str]
    root: Path

    def text(self, value: JsonValue) -> str:
        """A value as it is written, or what the variable that it names holds."""
        written = str(value or "")
        if not written.startswith("$"):
            return written
        if written[1:] not in self.variables:
            raise SetupError(f"config.yaml: notify names the variable {written[1:]}, which is not "
                             "set")
        return self.variables[written[1:]]


def _command(here: _Here, _: JsonObject) -> Route:
    named = here.notify["command"]
    argv = tuple(map(str, named)) if isinstance(named, list) else ("sh", "-c", str(named))
    passed = (*_PASSED, *map(str, members(here.notify.get("variables"))))
    return CommandRoute(argv, here.root, {
        name: here.variables[name] for name in passed if name in here.variables})


def _webhook(here: _Here, part: JsonObject) -> Route:
    return Webhook(here.text(part["url"]), here.text(part.get("secret")))


def _ntfy(here: _Here, part: JsonObject) -> Route:
    return Ntfy(here.text(part.get("server") or "https://ntfy.sh").rstrip("/"),
                here.text(part["topic"]), here.text(part.get("replies")),
                here.text(part.get("token")))


def _forge(here: _Here, part: JsonObject) -> Route:
    return Forge(here.text(part.get("api") or "https://api.github.com").rstrip("/"),
                 str(part["repo"]), int(str(part["issue"])),
                 texts(part["people"]), here.text(part.get("token")))


def _apprise(here: _Here, _: JsonObject) -> Route:
    return Apprise(tuple(map(here.text, members(here.notify["apprise"]))))


_KINDS: dict[str, Callable[[_Here, JsonObject], Route]] = {
    "command": _command, "webhook": _webhook, "ntfy": _ntfy, "forge": _forge, "apprise": _apprise}
