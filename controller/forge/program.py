"""Any other hosted CI, through a command of the user's that tells what it says of a Git commit."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, cast

from controller.core.canonical import JsonValue, entries, members
from controller.core.delivery import Issue, Pull, Thread
from controller.core.errors import WorldError
from controller.core.hosted import OWN, Check, State
from controller.process import capture
from controller.web import Unreachable

_SECONDS = 60.0
_STATES = {**{state.value: state for state in State}, "pending": State.QUEUED,
           "in_progress": State.RUNNING, "passed": State.SUCCESS, "failed": State.FAILURE}


@dataclass(frozen=True, slots=True)
class Program:
    """A command that finds the Git commit in ONESHOT_COMMIT and prints a JSON list of checks:
    `{"name": …, "state": one of `State`, "attempt": a number, "url": …, "log": …}`.
    """

    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str] = field(repr=False)
    name: str = "a command of yours"

    def checks(self, commit: str) -> tuple[Check, ...]:
        try:
            said = capture(self.argv, cwd=self.folder, timeout=_SECONDS,
                           env={**self.env, "ONESHOT_COMMIT": commit})
        except (OSError, WorldError) as fault:
            raise Unreachable(f"{self.argv[0]}: {fault}") from fault
        if said.exit:
            words = said.stderr.decode("utf-8", "replace").strip()[-200:]
            raise Unreachable(f"{self.argv[0]} exited with {said.exit}: {words}")
        try:
            listed = members(cast("JsonValue", json.loads(said.stdout)))  # as it was parsed
        except ValueError as fault:
            raise Unreachable(f"{self.argv[0]} printed no JSON: {fault}") from None
        odd = next((item for item in map(entries, listed)
                    if str(item.get("state")).lower() not in _STATES), None)
        if odd is not None:
            raise Unreachable(f"{self.argv[-1]}: unknown state {odd.get('state')!r} of check "
                              f"{odd.get('name')!r}; expected one of {', '.join(_STATES)}")
        return tuple(
            Check(str(item.get("name")), _STATES[str(item.get("state")).lower()],
                  str(item.get("commit") or commit), OWN, str(item.get("attempt", "")).zfill(20),
                  "", str(item.get("url") or ""), str(item.get("log") or ""))
            for item in map(entries, listed))

    def log(self, check: Check) -> str:
        return check.log

    def required(self, branch: str) -> tuple[str, ...]:
        return ()

    def issue(self, number: int) -> Issue:
        self._only_checks()

    def pulls(self, branch: str) -> tuple[Pull, ...]:
        self._only_checks()

    def open_pull(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        self._only_checks()

    def edit_pull(self, number: int, title: str, body: str, *, draft: bool) -> Pull:
        self._only_checks()

    def comments(self, thread: Thread) -> Iterator[str]:
        self._only_checks()

    def comment(self, thread: Thread, body: str) -> str:
        self._only_checks()

    def _only_checks(self) -> NoReturn:
        raise Unreachable("config.yaml: a forge of kind `command` tells of checks only")
