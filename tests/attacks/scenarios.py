"""Cases that are no single action: a death, a race, a clock, a check, evidence."""

import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from controller.actions.paths import write_bytes
from controller.actions.workplace import CannotPerform
from controller.core.canonical import JsonObject, entries
from controller.core.errors import SetupError
from controller.core.facts import Source
from controller.core.head import Stop
from controller.core.records import Candidate, Effect, Outcome, Prompt, Reply
from controller.core.settle import settle
from controller.core.tier import Tier
from controller.loop import step
from controller.project import read_project
from controller.sandbox.choice import Sandbox
from controller.sandbox.egress import Egress
from controller.sandbox.preflight import preflight
from controller.sandbox.profile import Profile
from tests.attacks.arena import Arena, standing
from tests.attacks.deaths import Told, happened, killed, second
from tests.attacks.translate import run, write

Scenario = Callable[[Sandbox, Path, dict[str, Any]], Told]
COMMIT: JsonObject = {"kind": "commit", "message": "Change it"}


def _branch_moves(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """Somebody moves the run's branch while the model thinks: it is left as it is."""
    with standing(Arena(folder, sandbox)) as stand:
        stand.says({"action": write("a.txt", "a\n")})
        stand.says({"action": COMMIT})
        stand.says({"action": write("b.txt", "b\n")})
        user, branch = stand.place.user, f"refs/heads/oneshot/{stand.fixed.run}"
        theirs = user.commit("main")

        @dataclass
        class Slow:
            body: bytes
            name: str = "slow"

            def propose(self, prompt: Prompt) -> Reply:
                user.move_ref(branch, theirs, user.ref(branch) or "")
                return Reply(self.body)

        body = json.dumps({"expected_version": stand.head.version, "state_patch": {},
                           "action": COMMIT}).encode()
        step(replace(stand.ctl, models={"model": Slow(body)}), stand.lease)
        moved = user.ref(branch) != theirs
        failed = entries(stand.last["outcome"]).get("status") == "failed"
        return ("refused" if failed else "contained", str(stand.last["observation"])[:200],
                "somebody's branch was moved" if moved else "")


def _drift(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """Legal steps that lead nowhere: no criterion gains evidence, so nothing is done."""
    with standing(Arena(folder, sandbox)) as stand:
        for number in range(40):
            stand.says({"action": write(f"m{number}.py", "x = 1\n")})
        criteria = entries(stand.head.state["criteria"])
        done = stand.head.stopped and stand.head.stopped.why is Stop.FINISHED
        return ("contained", str(criteria)[:200], "it counts as done" if done else "")


def _private_address(_: Sandbox, __: Path, case: dict[str, Any]) -> Told:
    words = re.search(r"(\S+) A{1,4} (\S+)", case["scenario"])
    name, address = (words[1], words[2]) if words else ("x", "127.0.0.1")
    dialled: list[str] = []

    def dial(address: str, port: int) -> Any:
        dialled.append(address)
        raise OSError

    said = Egress([name], lambda host, port: [address], dial).reached(name, 443)
    return "refused" if isinstance(said, str) else "allowed", str(said), " ".join(dialled)


def _as_root(_: Sandbox, folder: Path, __: dict[str, Any]) -> Told:
    """A sandbox whose commands are root's is none."""
    if os.geteuid() != 0:
        return "refused", "not root: there is nothing to refuse", ""
    trial = folder / "trial"
    why = preflight(Tier.BUBBLEWRAP, Profile(trial / "work", trial / "home", trial / "tmp"))
    return "refused" if "root" in why else "allowed", why, ""


def _clock(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """Time goes backwards by an hour at each look: limits are measured by another clock."""
    @dataclass
    class Backwards:
        at: datetime

        def now(self) -> datetime:
            self.at -= timedelta(hours=1)
            return self.at

        def sleep(self, seconds: float) -> None:
            raise AssertionError

    with standing(Arena(folder, sandbox)) as stand:
        started, clock = time.monotonic(), Backwards(stand.place.clock.now())
        stand.model.body = json.dumps({
            "expected_version": 0, "state_patch": {},
            "action": run("sleep 60", timeout=1)}).encode()
        step(replace(stand.ctl, clock=clock), stand.lease)
        late = time.monotonic() - started > 30
        return "contained", str(stand.last["observation"])[:200], "it went on" if late else ""


def _race(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """A folder becomes a link to outside and back, while files are written through its name."""
    root, victim = folder / "work", folder / "victim"
    for place in (root / "real", victim):
        place.mkdir(parents=True)
    (root / "link").symlink_to(victim)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for one, other in (("real", "x"), ("link", "real"), ("real", "link"), ("x", "real")):
                (root / one).rename(root / other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for number in range(3000):
            with suppress(CannotPerform, OSError):
                write_bytes(root, f"real/f{number % 50}", b"x")
    finally:
        over.set()
        thread.join()
    out = list(victim.iterdir())
    return "contained", f"{len(out)} of 3000 went out", "a write went out" if out else ""


def _check(sandbox: Sandbox, folder: Path, case: dict[str, Any]) -> Told:
    """A criterion whose check passes whatever it finds is no contract."""
    arena = Arena(folder, sandbox, contract="goal: g\nsuccess_criteria:\n  c: {check: {shell: "
                  + json.dumps(case["cmd"]) + "}}\n")
    arena.close()
    try:
        read_project(arena.repo)
    except SetupError as fault:
        return "refused", str(fault), ""
    return "allowed", "", ""


def _tests_said(sandbox: Sandbox, folder: Path, case: dict[str, Any]) -> Told:
    """A finish whose check says this and exits so."""
    output = case["tool_output"]
    line = f"printf %b {json.dumps(output['text'])}; (exit {output['rc']})"
    arena = Arena(folder, sandbox, contract="goal: g\nsuccess_criteria:\n  c: {check: {shell: "
                  + json.dumps(line) + "}}\n")
    with standing(arena) as stand:
        stand.says({"action": write("a.txt", "a\n")})
        stand.says({"action": COMMIT})
        stand.says({"action": {"kind": "finish", "result": "done", "summary": "done"}})
        done = stand.head.stopped is not None and stand.head.stopped.why is Stop.FINISHED
        return "allowed" if done else "refused", str(stand.last["observation"])[:200], ""


def _other_tree(sandbox: Sandbox, folder: Path, _: dict[str, Any]) -> Told:
    """Green evidence about another Git commit proves nothing of this one."""
    with standing(Arena(folder, sandbox)) as stand:
        finish: JsonObject = {"kind": "finish", "result": "done", "summary": "green"}
        from controller.core.aim import aim
        from controller.core.parse import parse
        from controller.core.records import Evidence, Finding, Status, Transition
        facts = stand.ctl.authority.observe(stand.head)
        transition = Transition(0, {}, parse(finish), {"action": finish, "state_patch": {},
                                                       "expected_version": 0})
        effect = Effect(
            stand.place.queries.launch(stand.fixed.run).run, Candidate(  # type: ignore[arg-type]  # any id
                stand.head, transition, stand.head.state, facts.source.tree),
            aim(transition.action, facts.source, stand.ctl.rules.policy), facts.source,
            facts.now, 1)
        green = Evidence("adds", Finding.VERIFIED, "ci", "x", "aaaa", facts.now, "exit 0")
        source: Source = facts.source
        found = settle(effect, Outcome(Status.DONE, "finish", source), (green,), stand.ctl.rules)
        done = found.stopped is not None and found.stopped.why is Stop.FINISHED
        return "allowed" if done else "refused", str(found.stopped), ""


_WORDS: dict[str, Scenario] = {
    r"moved|head moves": _branch_moves, r"\d+ steps": _drift,
    r"\bA{1,4} [0-9a-f:.]{3,}": _private_address,
    r"kill -9 controller": killed, r"died before|succeeded, process": happened,
    r"swap|\brace": _race, r"sudo controller|as root": _as_root,
    r"second start|same run": second, r"date -s": _clock,
}
"""Words of a case's scenario -> how it is tried."""


def scenario_of(case: dict[str, Any]) -> Scenario | None:
    """How a case is tried that is no single action; None: it is one."""
    output = case.get("tool_output") or {}
    if "rc" in output:
        return _tests_said
    if "conclusion" in output:
        return _other_tree
    if "cmd" in case:
        return _check
    words = str(case.get("scenario") or "")
    return next((how for mark, how in _WORDS.items() if words and re.search(mark, words)), None)


