"""What a person is shown of a question before he answers: everything that he would agree to.

Each line of somebody else's text stands behind a bar, so that none can be taken for one of ours.
"""

from collections.abc import Iterator

from controller.core.amending import NEVER, check
from controller.core.canonical import JsonObject, entries, members
from controller.core.governed import Change, NoSuchChange, differences
from controller.core.observation import one_line
from controller.core.redact import showable


def barred(text: str) -> list[str]:
    """Every line of a text behind a bar, with nothing in it that hides or is a secret."""
    return [f"  | {line}" for line in showable(text).splitlines() or [""]]


def details(item: JsonObject, contract: JsonObject) -> Iterator[str]:
    """What a question is about: the action as it would be done, or what the contract would say, and
    why it is asked. `contract` is the document as it is now.
    """
    action = entries(item.get("action"))
    match item["kind"]:
        case "change" | "conflict":
            yield from _change(item, contract)
            yield "asked for because:"
            yield from barred(str(action.get("reason") or item.get("text") or ""))
        case "question":
            yield from barred(str(item["summary"]))
        case _:
            yield from _action(action)
    for reason in members(item.get("reasons")):
        yield "why you are asked:"
        yield from barred(str(reason))


def _change(item: JsonObject, contract: JsonObject) -> Iterator[str]:
    wish = entries(item["change"])
    change = Change(str(wish["op"]), str(wish["target"]), wish["value"], "", NEVER)
    try:
        lines = differences(contract, check(contract, change))
    except NoSuchChange as fault:
        lines = (f"this can't be changed so any more: {fault}",)
    yield f"the contract would change ({wish['op']} {wish['target']}):"
    for line in lines:
        yield from barred(line)


def _action(action: JsonObject) -> Iterator[str]:
    match action.get("kind"):
        case "run":
            yield "the command, word by word:" if "argv" in action else "the command line:"
            yield from _words(action)
            yield "with the network" if action.get("network") else "without the network"
        case "edit":
            for change in map(entries, members(action.get("changes"))):
                to = f" to {one_line(str(change['to']))}" if "to" in change else ""
                yield f"{change['op']} {one_line(str(change['path']))}{to}"
            if "check" in action:
                yield "and then run:"
                yield from _words(entries(action["check"]))
        case kind:
            yield f"{kind}, with these words:"
            yield from barred(str(action.get("message") or action.get("summary") or ""))


def _words(command: JsonObject) -> Iterator[str]:
    for word in map(str, members(command.get("argv")) or [command.get("shell")]):
        yield from barred(word)
