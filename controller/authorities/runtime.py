"""What runs elsewhere as an authority: the user's own probes tell what is so, and what happened."""

import re
from dataclasses import dataclass
from datetime import datetime

from controller.commands import KEY, Shell, exported
from controller.core.action import Run
from controller.core.canonical import JsonObject, entries
from controller.core.contract import ProbeCheck
from controller.core.head import Head
from controller.core.observation import first_line
from controller.core.policy import Policy, Probe
from controller.core.ports import Clock
from controller.core.records import Effect, Finding, Remains
from controller.repo import Repo
from controller.web import Unreachable, Web

_UNKNOWN = "unknown: "

_MEANS: dict[int | None, bool] = {0: True, 3: False}
"""What the exit code of a probe means. Anything else, and no end in time: it can't tell; 1 is what
many programs exit with when they could not look.
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Runs the probes of one run, commands in a clean export of its base. Read-only."""

    repo: Repo
    shell: Shell
    base: str
    clock: Clock

    def examine(self, effect: Effect) -> Remains:
        """Whether the external command of an effect has happened, as its probe says."""
        action = effect.candidate.transition.action
        listed = self.shell.policy.listed(action.command) if isinstance(action, Run) else None
        if listed is None or listed.probe is None:
            return Remains(None, "the policy names no probe that could tell whether it happened")
        with exported(self.repo, self.shell, self.base, "probe") as (shell, folder):
            ran = shell.run(listed.probe, folder, {KEY: effect.id}, listed.reach)
        said = f"{listed.probe}: {ran.ending} {first_line(ran.output)}".rstrip()
        return Remains(_MEANS.get(ran.exit), said)

    def look(self, head: Head) -> dict[str, JsonObject]:
        """Σ's `probes`, with those asked again that are not recent enough."""
        known, now = entries(head.state.get("probes")), self.clock.now()
        probes = self.shell.policy.probes
        if not probes:
            return {}
        return {"probes": {
            probe.name: entries(known[probe.name]) if _recent(known, probe, now)
            else self._told(probe) for probe in probes}}

    def _told(self, probe: Probe) -> JsonObject:
        said = self.ask(probe)
        return {"result": said, "at": self.clock.now().isoformat(),
                "fresh": not said.startswith(_UNKNOWN)}

    def checked(self, check: ProbeCheck) -> tuple[Finding, str]:
        """Whether a probe says now what a criterion wants."""
        probe = probe_of(self.shell.policy, check.probe)
        if probe is None:
            return Finding.UNKNOWN, f"policy.yaml has no probe {check.probe}"
        said = self.ask(probe)
        if said.startswith(_UNKNOWN):
            return Finding.UNKNOWN, f"{check.probe}: {said}"
        good = bool(said) and re.fullmatch(check.expect, said) is not None
        return Finding.VERIFIED if good else Finding.FAILING, f"{check.probe}: {said}"

    def ask(self, probe: Probe) -> str:
        """The first line of what a probe says, or why it says nothing."""
        if probe.command is None:
            try:
                answer = Web().get(probe.address)
            except Unreachable as why:
                return first_line(self.shell.redactor.text(f"{_UNKNOWN}{why}"), 300)
            return first_line(self.shell.redactor.clean(answer.body), 300)
        with exported(self.repo, self.shell, self.base, "probe") as (shell, folder):
            ran = shell.run(probe.command, folder, reach=probe.reach)
        said = first_line(ran.output, 300)
        return said if ran.exit == 0 else first_line(f"{_UNKNOWN}{ran.ending} {said}", 300)


def probe_of(policy: Policy, name: str) -> Probe | None:
    """The probe of that name."""
    return next((probe for probe in policy.probes if probe.name == name), None)


def _recent(known: JsonObject, probe: Probe, now: datetime) -> bool:
    said = entries(known.get(probe.name))
    if "at" not in said:
        return False
    return (now - datetime.fromisoformat(str(said["at"]))).total_seconds() < probe.fresh
