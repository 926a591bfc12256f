"""From JSON that the schema gate has accepted to the action that it asks for."""

from typing import Literal, cast

from controller.core.action import (
    Action,
    Adopt,
    Amend,
    Ask,
    Change,
    ChangeRequest,
    Command,
    Comment,
    Commit,
    Delete,
    Edit,
    FileRange,
    Finish,
    Halt,
    Move,
    PullRequest,
    Push,
    Read,
    Recall,
    Replace,
    Restore,
    Run,
    Search,
    Wait,
    Write,
)
from controller.core.canonical import JsonObject


def parse(document: JsonObject) -> Action:
    """The action that a JSON object accepted by the schema gate describes."""
    field = cast("dict[str, str]", document)  # the schema gate has checked the types
    match document["kind"]:
        case "read":
            return Read(tuple(_file_range(item) for item in _objects(document, "files")))
        case "search":
            return Search(field.get("pattern") or "", field.get("glob") or "**")
        case "edit":
            changes = tuple(_change(item) for item in _objects(document, "changes"))
            check = document.get("check")
            return Edit(changes, command(check) if isinstance(check, dict) else None)
        case "run":
            return Run(command(document), document.get("force") is True)
        case _:
            return _parse_rest(document)


def _parse_rest(document: JsonObject) -> Action:
    field = cast("dict[str, str]", document)  # the schema gate has checked the types
    match document["kind"]:
        case "commit":
            return Commit(field["message"])
        case "recall":
            return Recall(field["query"])
        case "ask":
            return Ask(field["question"])
        case "wait":
            return Wait(int(field["seconds"]), field.get("reason") or "",
                        document.get("until") == "checks")
        case "finish":
            result: Literal["done", "impossible"] = (
                "impossible" if field["result"] == "impossible" else "done")
            return Finish(result, field["summary"])
        case _:
            return _parse_delivery(document)


def _parse_delivery(document: JsonObject) -> Action:
    """What is seen on a forge; else what is between people and the controller."""
    match document:
        case {"kind": "push"}:
            return Push()
        case {"kind": "pull_request", "title": str(title), "body": str(body)}:
            return PullRequest(title, body, document.get("draft") is True)
        case {"kind": "comment", "body": str(body)}:
            on_pull = document.get("on") == "pull_request"
            return Comment(body, "pull_request" if on_pull else "issue")
        case _:
            return _parse_own(document)


def _parse_own(document: JsonObject) -> Action:
    """A change request; else an action of the controller's own, from the record: no schema lets
    those through from a model.
    """
    match document:
        case {"kind": "change_request", "change": str(change), "item": str(item),
              "reason": str(reason)}:
            value = document.get("value")
            return ChangeRequest(change, item, reason, str(value) if value is not None else None)
        case {"kind": "adopt", "commit": str(commit)}:
            return Adopt(commit)
        case {"kind": "halt", "reason": str(reason)}:
            return Halt(reason)
        case {"kind": "amend", "version": int(version), "text": str(text)}:
            return Amend(version, text)
        case {"kind": "restore", "step": int(step), "state": dict(state),
              "tree": str(tree), "extras": str(extras), "observation": str(observation),
              "heard": int(heard), "reason": str(reason)}:
            return Restore(step, state, tree, extras, observation, heard, reason)
        case _:
            raise ValueError(f"BUG: the schema gate let the action {document['kind']!r} through")


def command(document: JsonObject) -> Command:
    """The command in `{"argv": […]}` or `{"shell": "…"}`, with its `timeout` if it names one."""
    limit = document.get("timeout")
    timeout = limit if isinstance(limit, int) else None
    match document:
        case {"argv": [_, *_] as words}:
            argv = tuple(map(str, words))
        case _:
            argv = ("sh", "-c", str(document.get("shell") or ""))
    return Command(argv, timeout, document.get("tty") is True, document.get("network") is True)


def _objects(document: JsonObject, key: str) -> list[JsonObject]:
    return cast("list[JsonObject]", document[key])  # the schema gate has checked the types


def _file_range(item: JsonObject) -> FileRange:
    first, last = item.get("first"), item.get("last")
    return FileRange(str(item["path"]), first if isinstance(first, int) else 1,
                     last if isinstance(last, int) else None)


def _change(item: JsonObject) -> Change:
    field = cast("dict[str, str]", item)  # the schema gate has checked the types
    match item["op"]:
        case "replace":
            return Replace(field["path"], field["old"], field["new"])
        case "write":
            return Write(field["path"], field["content"])
        case "delete":
            return Delete(field["path"])
        case _:
            return Move(field["path"], field["to"])
