"""Building gate 3: the patch laid over the head. Only the model's fields, only a valid state."""

from controller.core.canonical import JsonObject, canonical
from controller.core.errors import Refused
from controller.core.gates.schema import faults
from controller.core.merge import merge
from controller.core.pointer import nearest, pointer
from controller.core.records import Candidate, Head, Transition
from controller.core.rules import MODEL, Rules
from controller.core.verdict import Objection, judged


def patch(transition: Transition, head: Head, tree: str, rules: Rules) -> Candidate:
    """The candidate with the state that would follow. Raises Refused with every fault.

    The merged state is validated, not the patch: a patch may be good by itself and still leave
    an item without its text.
    """
    objections = _ownership(transition.patch, rules.owners)
    if objections:
        raise Refused((judged("patch", objections),))
    state = merge(head.state, transition.patch)
    objections = [*faults(state, rules.state_schema, "/state_patch"), *_size(state, rules)]
    if objections:
        raise Refused((judged("patch", objections),))
    return Candidate(head, transition, state, tree)


def _ownership(patch: JsonObject, owners: dict[str, str]) -> list[Objection]:
    mine = [name for name, owner in owners.items() if owner == MODEL]
    return [_foreign(key, owners.get(key), patch, mine) for key in patch
            if owners.get(key) != MODEL or not isinstance(patch[key], dict | None)]


def _foreign(key: str, owner: str | None, patch: JsonObject, mine: list[str]) -> Objection:
    if owner is None:
        return Objection(pointer("state_patch", key), f"unknown key{nearest(key, mine)}")
    if owner != MODEL:
        return Objection(pointer("state_patch", key),
                         f"belongs to the {owner}; leave it out of the patch")
    return Objection(pointer("state_patch", key), "expected an object of entries, or null")


def _size(state: JsonObject, rules: Rules) -> list[Objection]:
    size = len(canonical(state))
    if size <= rules.max_state_bytes:
        return []
    return [Objection("/state_patch", f"the state would be {size} bytes, at most "
                      f"{rules.max_state_bytes} fit; delete entries that no longer matter")]
