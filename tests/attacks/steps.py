"""The steps of a case, in our words: what a run of ours is asked for."""

import base64
import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from controller.core.canonical import entries
from controller.core.path import form
from tests.attacks.arena import Stand
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


def steps(case: Case, stand: Stand) -> list[Callable[[], Any]]:
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
