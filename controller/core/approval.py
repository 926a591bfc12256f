"""What a person agrees to, to the letter, and how it is known that it was him.

An answer is bound to what was asked: the action or change by its digest, the version, the tree and
the rules that it was judged by. It is signed (HMAC-SHA-256, RFC 2104) with a key that lies outside
the repository and outside the sandbox, so nothing that a run can write is ever an answer.
"""

import base64
import hmac
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import cast

from controller.core.canonical import JsonObject, JsonValue, canonical, digest, entries
from controller.core.facts import Facts
from controller.core.records import Binding, Candidate
from controller.core.rules import Rules

_TOKEN = 16  # characters: 80 bits, to be typed once


def bound(candidate: Candidate, facts: Facts, rules: Rules) -> Binding:
    """What an answer about a candidate is bound to, as the world is now."""
    document = candidate.transition.document
    return Binding(digest([document["action"], document["state_patch"]]), candidate.base.version,
                   facts.source.tree, rules.mark)


def differs(asked: Binding, now: Binding) -> str:
    """Why an answer to what was asked is none to what would be done now; empty: it is one."""
    what = {"subject": "the action is another", "version": "the run has gone on",
            "tree": "files have changed", "policy": "the contract or the policy has changed"}
    return ", ".join(words for name, words in what.items()
                     if getattr(asked, name) != getattr(now, name))


@dataclass(frozen=True, slots=True)
class Seal:
    """Signs with a key of the user's, and knows what was signed with it."""

    key: bytes = field(repr=False)

    def sign(self, document: Mapping[str, JsonValue]) -> str:
        """The signature of a document, in hex."""
        return hmac.new(self.key, canonical(dict(document)), "sha256").hexdigest()

    def signed(self, document: Mapping[str, JsonValue]) -> JsonObject:
        """The document with its signature as `mac`."""
        return {**document, "mac": self.sign(document)}

    def made(self, document: JsonObject) -> bool:
        """Whether a document carries our signature."""
        rest = {name: value for name, value in document.items() if name != "mac"}
        return hmac.compare_digest(str(document.get("mac", "")), self.sign(rest))

    def token(self, run: str, id: str, body: JsonObject, way: str) -> str:
        """The word by which a question is answered from elsewhere: this one, once, by that way."""
        asked: JsonObject = {"token": run, "id": id, "binding": body.get("binding"),
                             "expires": body.get("expires"), "way": way}
        return base64.b32encode(bytes.fromhex(self.sign(asked)))[:_TOKEN].decode()

    def admits(self, token: str, run: str, id: str, body: JsonObject, way: str) -> bool:
        """Whether somebody has answered with the question's own token, by the way it was sent."""
        given = token.strip().upper().encode("ascii", "replace")
        return hmac.compare_digest(given, self.token(run, id, body, way).encode())


def answer(seal: Seal, run: str, id: str, body: JsonObject, *, decision: str, by: str, reason: str,
           at: datetime) -> JsonObject:
    """An answer as it is kept: signed over everything that it is about."""
    return seal.signed({"run": run, "id": id, "kind": body["kind"], "binding": body.get("binding"),
                        "expires": body.get("expires"), "decision": decision, "by": by,
                        "reason": reason, "at": at.isoformat()})


def fault(seal: Seal, run: str, id: str, body: JsonObject, now: datetime) -> str:
    """Why the answer that a question has counts for nothing; empty: it counts."""
    said = entries(body.get("answer"))
    if not seal.made(said):
        return "it is not signed with your key"
    if (said["run"], said["id"], said["kind"]) != (run, id, body["kind"]):
        return "it was given to another question"
    if said["binding"] != body.get("binding") or said["expires"] != body.get("expires"):
        return "what was asked is not what was answered"
    return "it has expired" if expired(body, now) else ""


def expired(body: JsonObject, now: datetime) -> bool:
    """Whether the time in which a question could be answered is over."""
    until = body.get("expires")
    return isinstance(until, str) and datetime.fromisoformat(until) <= now


def binding_json(binding: Binding) -> JsonObject:
    """A binding, as the record keeps it."""
    return cast("JsonObject", asdict(binding))  # of texts and a number


def binding_of(body: JsonObject) -> Binding | None:
    """The binding that a question was asked with."""
    match body.get("binding"):
        case {"subject": str(subject), "version": int(version), "tree": str(tree),
              "policy": str(policy)}:
            return Binding(subject, version, tree, policy)
        case _:
            return None
