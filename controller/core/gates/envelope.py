"""Building gate 1: the outer form of a reply. One JSON object, addressed to this version."""

from controller.core.canonical import JsonObject
from controller.core.errors import Refused
from controller.core.head import Head
from controller.core.pointer import nearest, pointer
from controller.core.records import Reply
from controller.core.strict_json import NotJson, read_reply
from controller.core.verdict import Objection, judged

REQUIRED = ("expected_version", "state_patch", "action")
KEYS = ("reasoning", *REQUIRED)


def envelope(reply: Reply, head: Head, *, granted: bool = False) -> JsonObject:
    """The JSON object in the reply, without its reasoning. Raises Refused.

    One that a person has `granted` is for the version of the head, whichever it was made for.
    """
    if reply.fault is not None:
        raise _refused([Objection("", reply.fault)])
    try:
        document = read_reply(reply.body)
    except NotJson as fault:
        raise _refused([Objection("", str(fault))]) from None
    if granted:
        document["expected_version"] = head.version
    objections = [*_keys(document), *_version(document, head)]
    if objections:
        raise _refused(objections)
    return {key: value for key, value in document.items() if key != "reasoning"}


def _keys(document: JsonObject) -> list[Objection]:
    unknown = [Objection(pointer(key), f"unknown key{nearest(key, KEYS)}")
               for key in document if key not in KEYS]
    missing = [Objection(pointer(key), "missing; add it") for key in REQUIRED
               if key not in document]
    return unknown + missing


def _version(document: JsonObject, head: Head) -> list[Objection]:
    version = document.get("expected_version", head.version)
    if type(version) is int and version == head.version:  # True == 1, and is no version
        return []
    return [Objection("/expected_version", f"expected {head.version}, the version shown, got "
                      f"{version!r}; look at the state below and answer for it")]


def _refused(objections: list[Objection]) -> Refused:
    return Refused((judged("envelope", objections),))
