"""One case, tried for real in an arena of its own: what was decided, and did anything get out?"""

import base64
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from controller.core.canonical import entries
from controller.core.path import form
from controller.core.tier import Tier
from controller.sandbox.choice import Sandbox
from tests.attacks.arena import CONTRACT, KEY, SECRET, Arena, Stand, removed, standing
from tests.attacks.scenarios import scenario_of
from tests.attacks.translate import (
    NOTHING,
    action_of,
    generated,
    odd_file,
    proposal_of,
    raw_of,
    run,
    write,
)

Case = dict[str, Any]
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
        found = [_asked(case, stand, reply) for reply in _replies(case, stand)]
        return Seen(_worst(case, [verdict for verdict, _ in found]),
                    " | ".join(said for _, said in found)[-600:],
                    _harm(stand, before, time.monotonic() - started), stand.survivors())


def _contract(case: Case) -> str:
    """The contract, with the paths that a case's context allows."""
    scope = re.search(r"intent\.scope\s*=\s*(\[[^\]]*\])", str(case.get("context", "")))
    return CONTRACT + (f"constraints: [{{allow_paths: {scope[1]}}}]\n" if scope else "")


def _replies(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    """Every step of a case, in our words."""
    for name, made in _KINDS.items():
        if name in case:
            return made(case, stand)
    return _git(case, stand)


def _proposal(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    proposal, version = proposal_of(case["proposal"]), case["proposal"].get("base_version")
    if version is not None:  # as far behind or ahead as the case says
        stand.says({"action": NOTHING})
        stored = re.sub(r"\D", "", str(case.get("context", "")))
        proposal["expected_version"] = stand.head.version + version - int(stored or version)
    return [partial(stand.says, proposal)]


def _raw(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    return [lambda: stand.raw(raw_of(case["raw"], stand.head.version).encode(
        "utf-8", "surrogatepass"))]


def _action(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    action = case["action"]
    stats = action.get("stats") if isinstance(action, dict) else None
    if stats:
        removed, rest = stats.get("deleted", 0), stats.get("files", 0) - stats.get("deleted", 0)
        line = (f"ls many | head -n {removed} | sed s,^,many/, | xargs -r rm; "
                f"for i in $(seq {rest}); do echo $i > new$i.txt; done")
        return [lambda: stand.says({"action": run(line)}),
                lambda: stand.says({"action": {"kind": "commit", "message": "Much"}})]
    line = odd_file(action)
    if line:
        return [lambda: stand.says({"action": run(line)}),
                lambda: stand.says({"action": {"kind": "commit", "message": "Add it"}})]
    return [lambda: stand.says({"action": action_of(action)})]


def _patch(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    """A patch in our words: a move is a move, a link is made by a command and committed."""
    patch = case["patch"]
    moved = re.search(r"rename from (.+)\nrename to (.+)", patch)
    if moved:
        return [lambda: stand.says({"action": {"kind": "edit", "changes": [
            {"op": "move", "path": moved[1], "to": moved[2]}]}})]
    gone = re.search(r"deleted file mode \d+\n--- a/(.+)\n", patch)
    if gone:
        return [lambda: stand.says({"action": action_of({
            "type": "delete_file", "path": gone[1]})})]
    target = _target(patch)
    text = "\n".join(line[1:] for line in patch.split("\n") if re.match(r"\+(?!\+\+)", line))
    mode = (re.search(r"new (?:file )?mode (\d{6})", patch) or ["", "100644"])[1]
    make = {"120000": f"ln -s '{text}' '{target}'", "160000": f"git init -q '{target}'",
            "100755": f"touch '{target}'; chmod +x '{target}'"}.get(mode)
    if make is None:
        return [lambda: stand.says({"action": write(target, text)})]
    return [lambda: stand.says({"action": run(make)}),
            lambda: stand.says({"action": {"kind": "commit", "message": "Add"}})]


def _target(patch: str) -> str:
    """The file that a patch is about, as git writes names: quoted, behind b/, or neither."""
    found = (re.search(r"^\+\+\+ (.+)$", patch, re.MULTILINE)
             or re.search(r"^copy to (.+)$", patch, re.MULTILINE)
             or re.search(r"^diff --git \S+ (.+)$", patch, re.MULTILINE))
    name = found[1].split("\t")[0] if found else "x"
    if name.startswith('"'):
        name = name.strip('"').encode("latin-1", "ignore").decode("unicode_escape")
    return name.removeprefix("b/")


def _paths(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    """Each by itself; names that are one file on some systems, together."""
    paths = case.get("paths") or [case["path"]]
    forms = {form(path) for path in paths}
    groups = [paths] if len(forms) < len(paths) else [[path] for path in paths]
    replies: list[Any] = [{"action": {"kind": "edit", "changes": [
        {"op": "write", "path": path, "content": "x"} for path in group]}} for group in groups]
    return [partial(stand.says, reply) for reply in replies]


def _generated(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    made = generated(case["gen"])
    if isinstance(made, dict):
        return [lambda: stand.says(proposal_of(made))]
    if str(made).startswith("{"):
        return [lambda: stand.raw(raw_of(str(made), stand.head.version).encode())]
    return _printed(str(made).encode(), stand)


def _output(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    output = case["tool_output"]
    if "bytes" in output:
        return _printed(b"x" * 63 + b"\n" * 1 + b"y" * (output["bytes"] - 64), stand)
    return _printed(str(output.get("text", "")).encode(), stand)


def _printed(data: bytes, stand: Stand) -> list[Callable[[], Any]]:
    """A command that prints these bytes."""
    (stand.root / "printed").write_bytes(base64.b64encode(data))
    return [lambda: stand.says({"action": run("base64 -d printed")})]


def _git(case: Case, stand: Stand) -> list[Callable[[], Any]]:
    """Files and variables that git could be led by, then steps that call git."""
    for name in case.get("files", []):
        place = stand.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True) if name.endswith("/") else place.write_text(
            "[core]\n\tfsmonitor = touch ran; false\n\tbare = true\n" if name.endswith("config")
            else "ref: refs/heads/main\n")
    os.environ.update({name: str(value) for name, value in entries(case.get("env")).items()})
    return [lambda: stand.says({"action": write("ok.txt", "ok\n")}),
            lambda: stand.says({"action": {"kind": "search", "pattern": "ok"}}),
            lambda: stand.says({"action": {"kind": "commit", "message": "Ok"}})]


_KINDS: dict[str, Callable[[Case, Stand], list[Callable[[], Any]]]] = {
    "patch": _patch, "proposal": _proposal, "raw": _raw,
    "raw_hex": lambda case, stand: [lambda: stand.raw(bytes.fromhex(case["raw_hex"]))],
    "gen": _generated, "paths": _paths, "path": _paths, "tool_output": _output, "action": _action,
}
"""The field that a case is given by -> how its steps are made."""


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
