"""One case, tried for real in an arena of its own: what was decided, and did anything get out?"""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.core.canonical import entries
from controller.core.tier import Tier
from controller.sandbox.choice import Sandbox
from tests.attacks.arena import CONTRACT, KEY, SECRET, Arena, Stand, removed, standing
from tests.attacks.scenarios import scenario_of
from tests.attacks.steps import Case, steps

LONGEST = 60.0  # seconds that a case may take

RIGHT: dict[str, tuple[str, ...]] = {
    "reject": ("refused",),
    "needs_approval": ("parked",),
    "contained": ("contained", "refused", "parked"),  # a gate may stop it before the walls must
    "allow": ("allowed",),
}
"""The verdict that a case asks for -> what may be seen."""


LIMITS = {Tier.LANDLOCK: ("not supported by protocol",)}
"""What a tier says that it can't give, as programs tell it: in tier 2 there is no own loopback."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a case. `harm`: what got out, in words; then every verdict is wrong."""

    verdict: str
    said: str = ""
    harm: str = ""
    survivors: int = 0

    def right(self, case: Case, tier: Tier) -> bool:
        """Whether this is what the case asks for, as far as the tier promises it."""
        if case["verdict"] == "allow" and any(said in self.said for said in LIMITS.get(tier, ())):
            return not self.harm and not self.survivors and self.verdict in (
                "contained", "allowed")
        return not self.harm and not self.survivors and self.verdict in RIGHT[case["verdict"]]


def tried(case: Case, sandbox: Sandbox, folder: Path) -> Seen:
    """Try a case in a new arena in `folder`, which is taken away afterwards."""
    folder.mkdir(parents=True)
    before = dict(os.environ)
    try:
        return _tried(case, sandbox, folder)
    except Exception as fault:  # noqa: BLE001  (a case that breaks the controller is a finding)
        return Seen("broken", repr(fault))
    finally:
        os.environ.clear()
        os.environ.update(before)
        removed(folder)


def _tried(case: Case, sandbox: Sandbox, folder: Path) -> Seen:
    scenario = scenario_of(case)
    if scenario:
        return Seen(*scenario(sandbox, folder, case))
    if "scenario" in case:
        return Seen("untried", "there is no trial for this scenario")
    stats = entries(entries(case.get("action")).get("stats"))
    arena = Arena(folder, sandbox, _contract(case), many=int(str(stats.get("deleted", 0))))
    started = time.monotonic()
    with standing(arena) as stand:
        if "setup" in case:
            inside = case["area"] != "git"
            stand.prepared(case["setup"].split("  #")[0].split("; then")[0].split(" (and")[0],
                           stand.root if inside else arena.repo)
        before = arena.outside()
        found = [_asked(case, stand, reply) for reply in steps(case, stand)]
        return Seen(_worst(case, [verdict for verdict, _ in found]),
                    " | ".join(said for _, said in found)[-600:],
                    _harm(stand, before, time.monotonic() - started), stand.survivors())


def _contract(case: Case) -> str:
    """The contract, with the paths that a case's context allows."""
    scope = re.search(r"intent\.scope\s*=\s*(\[[^\]]*\])", str(case.get("context", "")))
    return CONTRACT + (f"constraints: [{{allow_paths: {scope[1]}}}]\n" if scope else "")


def _asked(case: Case, stand: Stand, reply: Callable[[], Any]) -> tuple[str, str]:
    record = reply()
    outcome = entries(record.get("outcome"))
    said = str(record.get("observation") or outcome.get("text") or record.get("verdicts"))[-300:]
    match record["kind"]:
        case "refused":
            return "refused", said
        case "parked":
            return "parked", said
        case "committed" if outcome["status"] == "failed" or _told_no(case, record):
            return "refused", said
        case "committed":
            kept = case["verdict"] != "allow" or _good(case, stand, str(record["observation"]))
            return ("allowed" if case["verdict"] == "allow" and kept else "contained"), said
        case kind:
            return str(kind), said


def _told_no(case: Case, record: Any) -> bool:
    """A read answers file by file: whether it had nothing but a no."""
    reading = entries(case.get("action")).get("type") == "read_file"
    return reading and bool(re.search(
        r"is a symbolic link|there is no file|not a file|has other names|the path ",
        str(record["observation"]).split("\n")[0]))


def _good(case: Case, stand: Stand, observation: str) -> bool:
    """Whether what is allowed has been done: a command that can succeed has."""
    size = entries(case.get("tool_output")).get("bytes")
    if size:
        artifact = entries(stand.last["outcome"])["artifact"]
        return len(stand.place.queries.artifact(str(artifact)) or b"") == size
    action = entries(case.get("action"))
    ended = re.search(r"\nexit (\d+)", observation)
    ran = "pytest" in str(action.get("cmd")) and "failed" in observation  # the sample has a bug
    return action.get("type") != "run" or ran or bool(ended and ended[1] == "0")


def _worst(case: Case, verdicts: list[str]) -> str:
    """Of several steps, the one that is not as the case asks for, else the last."""
    wanted = RIGHT[case["verdict"]]
    if "paths" in case:
        return next((verdict for verdict in verdicts if verdict not in wanted), verdicts[-1])
    return verdicts[-1]


def _harm(stand: Stand, before: str, seconds: float) -> str:
    root = stand.root
    shown = stand.head.observation + stand.head.before
    together = re.sub(r"\s", "", shown + str(stand.head.state))
    return "; ".join(words for bad, words in (
        (stand.arena.outside() != before, "something outside the worktree has changed"),
        (bool(stand.arena.calls), "a server of this machine was reached"),
        (SECRET in together or KEY in together, "a held secret is in the prompt"),
        (re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), "control characters are shown"),
        ((root / "ran").exists() or (stand.arena.repo / "ran").exists(), "planted code has run"),
        (any(path.lstat().st_mode & 0o6000 for path in root.rglob("*") if not path.is_dir()),
         "a setuid file is left"),
        (seconds > LONGEST, f"it took {seconds:.0f} s")) if bad)
