"""The reverse check: from each success criterion to the evidence that would prove it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from typing import cast

from controller.core.canonical import JsonObject, JsonValue, digest, entries
from controller.core.contract import (
    Check,
    Contract,
    Criterion,
    FileCheck,
    HostedCheck,
    PersonCheck,
    ProbeCheck,
)
from controller.core.glob import matches_in_any_case
from controller.core.policy import Policy
from controller.core.records import Finding


class Standing(Enum):
    """How it stands with the evidence for one criterion."""

    PRESENT = "present"  # verified in the very tree of the run's Git commit
    STALE = "stale"  # verified, but in another tree
    MISSING = "missing"  # looked for and not found, or not looked for yet
    IMPOSSIBLE = "impossible"  # nothing that the run may do can bring it about


@dataclass(frozen=True, slots=True)
class Proof:
    """One criterion, how it stands, and why in a sentence."""

    criterion: str
    standing: Standing
    why: str

    def __str__(self) -> str:
        return f"{self.standing.value}: {self.why}"


def key(check: Check, policy: Policy) -> str:
    """A digest of what a check asks and of the policy it is made under."""
    asked = cast("JsonValue", asdict(check))  # texts, numbers and tuples of them
    return digest([type(check).__name__, asked, policy.mark])[:16]


def proofs(contract: Contract, policy: Policy, state: JsonObject,
           head_tree: str) -> Iterator[Proof]:
    """Every criterion of a contract, by what the state says was found, in which tree and how.

    `head_tree` is the tree of the run's last Git commit.
    """
    found = entries(state.get("criteria"))
    for criterion in contract.success_criteria:
        yield _proof(criterion, contract, policy, entries(found.get(criterion.id)), head_tree)


def _proof(criterion: Criterion, contract: Contract, policy: Policy, found: JsonObject,
           head_tree: str) -> Proof:
    finding, step = found.get("finding"), found.get("step")
    hopeless = _hopeless(criterion, contract, found)
    if finding == Finding.VERIFIED.value:
        old = _stale(criterion, policy, found, head_tree)
        if not old:
            return Proof(criterion.id, Standing.PRESENT,
                         f"verified in step {step}, in the Git commit")
        if not hopeless:
            return Proof(criterion.id, Standing.STALE, f"verified in step {step}, {old}")
    if hopeless:
        return Proof(criterion.id, Standing.IMPOSSIBLE, hopeless)
    if isinstance(criterion.check, PersonCheck):
        return Proof(criterion.id, Standing.MISSING, "a person is asked at the finish: "
                     f"{criterion.check.question}")
    if not found:
        return Proof(criterion.id, Standing.MISSING, "it was not checked yet")
    when = f"in step {step}" if step else "at the start"
    return Proof(criterion.id, Standing.MISSING, f"{finding} {when}: {found.get('detail')}")


def _stale(criterion: Criterion, policy: Policy, found: JsonObject, head_tree: str) -> str:
    """Why what was verified proves nothing now; empty: it does."""
    if found.get("check") not in (None, key(criterion.check, policy)):
        return "by another check or under another policy"
    if found.get("tree") != head_tree:
        return f"in another tree ({str(found.get('tree'))[:12]}) than the Git commit's"
    return ""


def _hopeless(criterion: Criterion, contract: Contract, found: JsonObject) -> str:
    """Why nothing that the contract allows can make the criterion hold; empty: something may."""
    if isinstance(criterion.check, FileCheck):
        for item in contract.constraints:
            if matches_in_any_case(criterion.check.path, item.forbid_paths):
                return f"{item.id} forbids to change {criterion.check.path}"
    elsewhere = isinstance(criterion.check, HostedCheck | ProbeCheck)
    if found.get("finding") == Finding.UNKNOWN.value and not elsewhere:
        return f"its check can't be run: {found.get('detail')}"
    return ""
