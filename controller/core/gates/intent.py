"""Judging gate: the user's contract, and every field that is not the model's."""

from controller.core.action import Commit, Edit, touched
from controller.core.canonical import digest
from controller.core.facts import Facts
from controller.core.glob import matches
from controller.core.observation import quoted
from controller.core.pointer import pointer
from controller.core.records import Candidate
from controller.core.rules import MODEL, Rules
from controller.core.verdict import Decision, Objection, Verdict, judged


def intent(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse what the contract forbids, and a change of another owner's field; ask about what lies
    outside the paths that the contract names.
    """
    refused = [*_forbidden(candidate, facts, rules), *_count(candidate, facts, rules),
               *_owners(candidate, rules)]
    if refused:
        return judged("intent", refused)
    return judged("intent", _outside(candidate, facts, rules), Decision.CONFIRM)


def _changed(candidate: Candidate, facts: Facts) -> list[str]:
    """Of an edit what it names, of a Git commit what it holds: commands change files too."""
    action = candidate.transition.action
    return sorted(facts.changed if isinstance(action, Commit) else {*touched(action)})


def _forbidden(candidate: Candidate, facts: Facts, rules: Rules) -> list[Objection]:
    return [Objection("/action", f"the contract forbids to change {quoted(path)}; leave it as it "
                      "is") for path in _changed(candidate, facts)
            if matches(path, rules.contract.forbid_paths)]


def _outside(candidate: Candidate, facts: Facts, rules: Rules) -> list[Objection]:
    allowed = rules.contract.allow_paths
    return [Objection("/action", f"{quoted(path)} is outside the paths that the contract allows "
                      f"({', '.join(allowed)}): a person must agree first")
            for path in _changed(candidate, facts)
            if allowed and not matches(path, allowed) and path not in facts.agreed]


def _count(candidate: Candidate, facts: Facts, rules: Rules) -> list[Objection]:
    action, limit = candidate.transition.action, rules.contract.max_files
    changed = facts.changed | set(touched(action))
    if limit is None or len(changed) <= limit or not isinstance(action, Edit | Commit):
        return []
    return [Objection("/action", f"{len(changed)} files would differ from the base, the contract "
                      f"allows {limit}: {', '.join(map(quoted, sorted(changed)[:20]))}")]


def _owners(candidate: Candidate, rules: Rules) -> list[Objection]:
    """Ownership again, on the merged state and by digest: this is the promise, not the courtesy."""
    before, after = candidate.base.state, candidate.state
    return [Objection(pointer("state_patch", name), f"belongs to the {owner}; leave it as it is")
            for name, owner in rules.owners.items()
            if owner != MODEL and before.get(name) is not after.get(name)
            and digest(before.get(name)) != digest(after.get(name))]
