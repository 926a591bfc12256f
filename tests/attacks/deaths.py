"""Cases in which a controller dies, or there are two of them."""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from controller.cli.wiring import held, journal
from controller.core.errors import LeaseLost
from controller.core.ports import Executor
from controller.core.records import Candidate, Effect, Outcome, Remains
from controller.core.tier import Tier
from controller.loop import recover, step
from controller.processes import marked
from controller.sandbox.choice import Sandbox
from tests.attacks.arena import POLICY, Arena, standing
from tests.attacks.translate import run

Told = tuple[str, str, str]  # verdict, what was said, harm


def killed(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """The controller dies by SIGKILL in the middle of a command: no orphan, and one more start
    brings it to an end.
    """
    arena = Arena(folder, sandbox)
    child = os.fork()
    if child == 0:
        with standing(arena) as stand:
            stand.says({"action": run("touch started; setsid sleep 300 & sleep 300", timeout=8)})
        os._exit(0)
    _until(lambda: any((folder / "cache").glob("*/work/started")))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    arena.close()
    (work,) = (folder / "cache").glob("*/work")
    mark = str(work.parent)
    _until(lambda: not marked(mark))
    place = arena.place()
    left = place.queries.effect(place.run(None)) is not None
    return ("contained", "the effect is open" if left else "",
            "" if left and not marked(mark) else "an orphan, or a lost effect")


def happened(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """An external command has run and the controller dies before that is recorded."""
    outside = folder / "cache/sent"
    outside.mkdir(parents=True)
    outside.chmod(0o777)
    line = f"echo $ONESHOT_KEY >> {outside}/log"
    policy = POLICY + (f"external:\n  - run: '{line}'\n    probe: 'grep -q $ONESHOT_KEY "
                       f"{outside}/log || exit 3'\n    writes: ['{outside}']\n")
    with standing(Arena(folder, replace(sandbox), policy=policy)) as stand:
        stand.model.body = json.dumps({"expected_version": 0, "state_patch": {}, "action": {
            "kind": "run", "shell": line}}).encode()
        if sandbox.tier is Tier.LANDLOCK:  # a person is asked first there, so he is
            step(stand.ctl, stand.lease)
            stand.place.desk.answer(stand.fixed.run, "c1", approve=True, reason="",
                                    now=stand.place.clock.now())
            stand.ctl.store.stop(stand.lease, None, stand.place.clock.now())
        try:
            step(replace(stand.ctl, executor=_Dying(stand.ctl.executor)), stand.lease)
        except KeyboardInterrupt:
            recover(stand.ctl, stand.lease)
        sent = (outside / "log").read_text().splitlines()
        return "contained", str(stand.last["observation"])[:200], "" if len(sent) == 1 else "twice"


@dataclass(frozen=True)
class _Dying:
    inner: Executor

    def perform(self, effect: Effect) -> Outcome:
        self.inner.perform(effect)
        raise KeyboardInterrupt

    def foresee(self, candidate: Candidate) -> str:
        return self.inner.foresee(candidate)

    def undo(self, effect: Effect, outcome: Outcome) -> Outcome:
        return self.inner.undo(effect, outcome)

    def set_aside(self, candidate: Candidate) -> str:
        return self.inner.set_aside(candidate)

    def resume(self, effect: Effect, remains: Remains) -> Outcome:
        return self.inner.resume(effect, remains)


def second(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    with standing(Arena(folder, sandbox)) as stand:
        child = os.fork()
        if child == 0:
            place = stand.arena.place()
            try:
                with held(place, stand.fixed.run, journal(place)):
                    os._exit(1)
            except LeaseLost:
                os._exit(0)
            os._exit(2)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return "refused" if code == 0 else "allowed", f"the second one ended with {code}", ""


def _until(met: Callable[[], bool], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not met():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)
