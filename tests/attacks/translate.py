"""From the cases' vocabulary to ours. The tables below are all there is to it."""

import json
import shlex
from collections.abc import Callable
from typing import Any

Reply = dict[str, Any]

NOTHING: Reply = {"kind": "read", "files": [{"path": "README.md"}]}


def write(path: str, content: str) -> Reply:
    """An edit of one file."""
    return {"kind": "edit", "changes": [{"op": "write", "path": path, "content": content}]}


def run(line: str, **more: Any) -> Reply:
    """A command line, for bash: it knows more ways than sh."""
    return {"kind": "run", "argv": ["bash", "-c", line], **more}


def _patched(action: Reply) -> Reply:
    """A hunk replaces its removed lines by its added ones."""
    lines = str(action["hunk"]).split("\n")
    old, new = ("\n".join(line[1:].strip() for line in lines if line.startswith(sign))
                for sign in "-+")
    return {"kind": "edit", "changes": [
        {"op": "replace", "path": action["path"], "old": old, "new": new}]}


ACTIONS: dict[str, Callable[[Reply], Reply]] = {
    "noop": lambda _: NOTHING,
    "run": lambda action: {
        **({"kind": "run", "argv": action["argv"]} if "argv" in action else run(
            str(action.get("cmd", "")))),
        **{key: action[key] for key in action if key not in ("type", "cmd", "argv")}},
    "write_file": lambda action: write(action["path"], action["content"]),
    "apply_patch": _patched,
    "delete_file": lambda action: {"kind": "edit", "changes": [
        {"op": "delete", "path": action["path"]}]},
    "read_file": lambda action: {"kind": "read", "files": [{"path": action["path"]}]},
    "git_commit": lambda action: {"kind": "commit", "message": action["message"]},
    "finish": lambda action: {"kind": "finish", "result": "done",
                              "summary": action.get("claim", "done")},
    # What needs the network is a command that asks for it: there is no other way to say it.
    "git_push": lambda action: action if action.get("force") or action.get("delete") else run(
        f"git push origin HEAD:{action.get('ref', 'main')}", network=True),
    "open_pr": lambda action: run(f"gh pr create --head {action.get('branch', 'x')} --body "
                                  f"'{action.get('body', '')}'", network=True),
    "install_deps": lambda action: run(
        f"{action.get('manager', 'npm')} install {' '.join(action.get('packages', []))}",
        network=True),
}
"""Their kind of action -> ours. A kind that is not here is handed on as it is: ours is a closed
list, and refuses it.
"""


def odd_file(action: Any) -> str:
    """The command line that makes what no edit of ours can: a link, a program; else empty."""
    if not isinstance(action, dict):
        return ""
    path = str(action.get("path"))
    if action.get("type") in ("symlink", "make_symlink"):
        return f"ln -s {shlex.quote(str(action.get('target')))} {shlex.quote(path)}"
    mode = action.get("mode", 0)
    if action.get("executable") or (int(str(mode), 8) if isinstance(mode, str) else mode) & 0o111:
        return (f"printf %s {shlex.quote(str(action.get('content', '')))} > {shlex.quote(path)}; "
                f"chmod +x {shlex.quote(path)}")
    return ""


def action_of(action: Any) -> Any:
    """Their action in our words."""
    if not isinstance(action, dict):
        return action
    known = ACTIONS.get(str(action.get("type")))
    return known(action) if known else {
        "kind": action.get("type"), **{key: action[key] for key in action if key != "type"}}


def proposal_of(proposal: Reply) -> Reply:
    """Their proposal in our words; the version is said by whoever asks."""
    rest = {key: value for key, value in proposal.items()
            if key not in ("base_version", "action", "state_patch")}
    return {**rest, "state_patch": _facts(proposal.get("state_patch", {})),
            "action": action_of(proposal.get("action", {"type": "noop"}))}


def _facts(patch: Any) -> Any:
    """A fact that is a plain text is one with a text, in our words."""
    facts = patch.get("facts") if isinstance(patch, dict) else None
    if not isinstance(facts, dict):
        return patch
    return {**patch, "facts": {key: {"text": value} if isinstance(value, str) else value
                               for key, value in facts.items()}}


def raw_of(raw: str, version: int) -> str:
    """Their text with our words in it, so that it is refused for what is wrong with it."""
    text = raw.replace('{"type":"noop"}', json.dumps(NOTHING)).replace('"type"', '"kind"')
    text = text.replace('"base_version"', '"expected_version"')
    if '"expected_version"' not in text and text.startswith("{"):
        text = f'{{"expected_version":{version},' + text[1:]
    return text


def generated(expression: str) -> Any:
    """What a case's own expression makes, with nothing at hand but plain values."""
    plain: dict[str, object] = {kind.__name__: kind for kind in (range, str, bytes, dict, int)}
    plain |= {"len": len, "chr": chr, "ord": ord, "list": list}
    return eval(expression, {"__builtins__": plain})
