"""Judging gate: the user's contract, and every field that is not the model's."""

from collections.abc import Iterator

from controller.core.action import ChangeRequest, Commit, Edit, Finish, command_of, touched
from controller.core.amending import doubts
from controller.core.canonical import digest, entries
from controller.core.constraints import Changed, broken, forbidden_command
from controller.core.contract import Constraint, Governance, PersonCheck
from controller.core.facts import Facts
from controller.core.glob import matches, matches_in_any_case
from controller.core.observation import quoted
from controller.core.pointer import nearest, pointer
from controller.core.projection import subject
from controller.core.question import CROWDED, crowded, waits
from controller.core.records import Candidate
from controller.core.rules import MODEL, USER, Rules
from controller.core.verdict import Decision, Objection, Verdict, judged


def intent(candidate: Candidate, facts: Facts, rules: Rules) -> Verdict:
    """Refuse what the contract forbids, and a change of another owner's field; ask about what lies
    outside the paths that the contract names, and about what it wants a person to be asked.

    What depends on the text of files is judged later, over the very tree (`Authority.vet`).
    """
    refused = [*_forbidden(candidate, facts, rules), *_commands(candidate, rules),
               *_requested(candidate, rules), *_waiting(candidate), *_owners(candidate, rules)]
    if refused:
        return judged("intent", refused)
    return judged("intent", (*_outside(candidate, facts, rules), *_protected(
        candidate, facts, rules), *_looked_at(candidate, rules)), Decision.CONFIRM)


def _changed(candidate: Candidate, facts: Facts) -> list[str]:
    """Of an edit what it names, of a Git commit what it holds: commands change files too."""
    action = candidate.transition.action
    return sorted(facts.changed if isinstance(action, Commit) else {*touched(action)})


def _forbidden(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    """Paths and their number are known before anything is done."""
    action = candidate.transition.action
    named = Changed(frozenset(_changed(candidate, facts)))
    more = set(touched(action)) - facts.changed  # what reverts a file is judged over its tree
    after = Changed(facts.changed | more if more or isinstance(action, Commit) else frozenset())
    changing = isinstance(action, Edit | Commit)
    for item in rules.contract.constraints if changing else ():
        for hit in (*broken((Constraint(item.id, forbid_paths=item.forbid_paths),), named),
                    *broken((Constraint(item.id, max_files=item.max_files),), after)):
            yield Objection("/action", str(hit))


def _commands(candidate: Candidate, rules: Rules) -> Iterator[Objection]:
    line = command_of(candidate.transition.action)
    for hit in forbidden_command(rules.contract.constraints, line) if line else ():
        yield Objection("/action", str(hit))


def _outside(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    for item in rules.contract.constraints:
        for path in _changed(candidate, facts) if item.allow_paths else ():
            if not matches(path, item.allow_paths) and path not in facts.agreed:
                yield Objection("/action", f"{item.id}: {quoted(path)} is outside the paths that "
                                f"the contract allows ({', '.join(item.allow_paths)}): a person "
                                "must agree first")


def _protected(candidate: Candidate, facts: Facts, rules: Rules) -> Iterator[Objection]:
    for item in rules.contract.constraints:
        for path in _changed(candidate, facts):
            if matches_in_any_case(path, item.protect_paths) and path not in facts.agreed:
                yield Objection("/action", f"{item.id}: {quoted(path)} is protected by the "
                                "contract: a person must agree first")


def _looked_at(candidate: Candidate, rules: Rules) -> Iterator[Objection]:
    """Criteria that only a person can check: he is asked when the model says that it is done. So is
    he while something that he has said is not decided.
    """
    action = candidate.transition.action
    for id, item in entries(candidate.base.state.get("waiting")).items():
        if isinstance(action, Finish) and entries(item).get("kind") == "conflict":
            yield Objection("/action", f"{id} is not decided: {entries(item)['summary']}; is the "
                            "run to be finished all the same?")
    for criterion in rules.contract.success_criteria:
        if (isinstance(criterion.check, PersonCheck) and isinstance(action, Finish)
                and action.result == "done"):
            yield Objection("/action", f"{criterion.id}: {criterion.check.question}")


def _waiting(candidate: Candidate) -> Iterator[Objection]:
    """What waits for a person is not asked about once more, and nobody is asked more at once than
    he can answer. A person's grant is of what waited.
    """
    if crowded(candidate.base) and waits(candidate.transition.action):
        yield Objection("/action", CROWDED)
    mine = subject(entries(candidate.transition.document["action"]))
    for id, item in entries(candidate.base.state.get("waiting")).items():
        if entries(item).get("subject") == mine:
            yield Objection("/action", f"this waits for a person already ({id}); do other work, or "
                            "`wait`")


def _requested(candidate: Candidate, rules: Rules) -> Iterator[Objection]:
    """A change request names an item of the contract that somebody may ask to change."""
    action = candidate.transition.action
    if not isinstance(action, ChangeRequest):
        return
    known = {"goal": Governance()} | {id: rule for id, _, rule in rules.contract.governed}
    if action.change != "add" and action.item not in known:
        yield Objection("/action/item", f"the contract has no item {action.item!r}"
                        f"{nearest(action.item, known)}")
    elif action.change != "add" and known[action.item].change_policy != "ask":
        yield Objection("/action/item", f"{action.item} is not to be asked about (change_policy "
                        f"{known[action.item].change_policy}); work within it")
    else:
        yield from doubts(action, rules.terms)


def _owners(candidate: Candidate, rules: Rules) -> list[Objection]:
    """Ownership again, on the merged state and by digest: this is the promise, not the courtesy."""
    before, after = candidate.base.state, candidate.state
    return [Objection(pointer("state_patch", name), f"belongs to the {owner}; leave it as it "
                      f"is{_how(owner)}")
            for name, owner in rules.owners.items()
            if owner != MODEL and before.get(name) is not after.get(name)
            and digest(before.get(name)) != digest(after.get(name))]


def _how(owner: str) -> str:
    return " (to ask for a change of the contract: the action change_request)" * (owner == USER)
