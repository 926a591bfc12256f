"""Judging gate: the user's contract, and every field that is not the model's."""

from controller.core.action import Commit, Edit, touched
from controller.core.canonical import digest
from controller.core.glob import matches
from controller.core.observation import quoted
from controller.core.pointer import pointer
from controller.core.records import Candidate, Facts
from controller.core.rules import MODEL, Rules
from controller.core.verdict import Objection, Verdict, judged


def intent(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse what leaves the paths the contract allows, or changes a field of another owner."""
    return judged("intent", (*_paths(candidate, facts, rules), *_count(candidate, facts, rules),
                             *_owners(candidate, rules)))


def _paths(candidate: Candidate, facts: Facts, rules: Rules) -> list[Objection]:
    """An edit by what it names, a Git commit by what it holds: commands change files too."""
    contract, found = rules.contract, []
    action = candidate.transition.action
    for path in sorted(facts.changed) if isinstance(action, Commit) else touched(action):
        if contract.allow_paths and not matches(path, contract.allow_paths):
            found.append(Objection("/action", f"{quoted(path)} is outside the paths that the "
                                   f"contract allows: {', '.join(contract.allow_paths)}"))
        if matches(path, contract.forbid_paths):
            found.append(Objection("/action", f"the contract forbids to change {quoted(path)}; "
                                   "leave it as it is"))
    return found


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
