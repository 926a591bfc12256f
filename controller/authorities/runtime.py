"""What runs elsewhere as an authority: the user's own probes tell whether something happened."""

from dataclasses import dataclass

from controller.commands import KEY, Shell, exported
from controller.core.action import Run
from controller.core.observation import first_line
from controller.core.records import Effect, Remains
from controller.repo import Repo

_MEANS: dict[int | None, bool] = {0: True, 3: False}
"""What the exit code of a probe means. Anything else, and no end in time: it can't tell; 1 is what
many programs exit with when they could not look.
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Runs the probes of one run's external commands, in a clean export of its base."""

    repo: Repo
    shell: Shell
    base: str

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
