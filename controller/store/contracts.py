"""The versions of a run's contract: the first is its launch's, each later one is signed."""

from datetime import datetime

from controller.core.amending import check
from controller.core.approval import Seal
from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.errors import Damaged, SetupError
from controller.core.governed import Change, NoSuchChange, differences
from controller.core.head import RunId
from controller.core.terms import contract_of
from controller.documents import of_documents
from controller.store.ledger import note
from controller.store.rows import int_in
from controller.store.tables import Tables


def version(tables: Tables, run: RunId) -> int:
    """The number of the newest version."""
    return tables.contract_version(run) or _first(tables, run)


def newest(tables: Tables, seal: Seal, run: RunId) -> JsonObject:
    """The newest contract of a run, as a document. Raises Damaged when it is not the user's."""
    later = tables.contracts(run)
    for number, body in enumerate(later, _first(tables, run) + 1):
        if not seal.made(body) or body["run"] != run or body["version"] != number:
            raise Damaged(f"version {number} of the contract of run {run} is not signed with the "
                          "key of this user: nobody is to go on with it. `oneshot intent log` "
                          "shows who is said to have made it")
    return document(tables, run)


def document(tables: Tables, run: RunId, number: int | None = None) -> JsonObject:
    """A version of the contract (the newest by default), whoever has signed it.

    Raises SetupError for one that is not there.
    """
    first = entries(entries((tables.launch(run) or {}).get("documents")).get("contract"))
    known = {_first(tables, run): first} | {
        int_in(body["version"]): entries(body["document"]) for body in tables.contracts(run)}
    wanted = max(known) if number is None else number
    if wanted not in known:
        raise SetupError(f"run {run} has no version {wanted} of its contract; it has "
                         f"{min(known)} to {max(known)}")
    return known[wanted]


def told(tables: Tables, run: RunId, since: int) -> str:
    """What was changed after a version, in words for the model."""
    now = document(tables, run)
    lines = differences(document(tables, run, since), now)
    return "\n".join([f"The user has changed the intent contract (version {since} -> "
                      f"{now['version']}). It is shown above as it is now:", *lines])


def amend(tables: Tables, seal: Seal, run: RunId, change: Change, by: str) -> int:
    """Write the next version, inside a transaction: its number. Raises SetupError when the change
    can't be made.
    """
    old = document(tables, run)
    if "last" not in old:
        raise SetupError(f"run {run} was started before contracts had versions; start a new run")
    try:
        new = check(old, change)
    except NoSuchChange as fault:
        raise SetupError(str(fault)) from None
    for item in contract_of(new).constraints:
        if item.id not in {one.id for one in contract_of(old).constraints} and item.deadline and (
                item.deadline <= change.at):
            raise SetupError(f"{item.id}: the deadline {item.deadline} is over already")
    documents = entries((tables.launch(run) or {}).get("documents"))
    if "policy" in documents:
        of_documents({**documents, "contract": new})  # raises when it fits into no prompt
    number = int_in(new["version"])
    body: JsonObject = {"run": run, "version": number, "document": new, "by": by,
                        "op": change.op, "target": change.target, "at": change.at.isoformat(),
                        "source": change.source}
    tables.put_contract(run, number, seal.signed(body))
    note(tables, run, "intent", change.at, {
        "contract": number, "by": by, "op": change.op, "target": change.target,
        "source": change.source, "text": "\n".join(differences(old, new))})
    return number


def resign(seal: Seal, body: JsonObject, run: RunId) -> JsonObject:
    """A version that came from elsewhere, signed by whoever brings it in."""
    return seal.signed({**{key: value for key, value in body.items() if key != "mac"}, "run": run})


def by_user(op: str, target: str, value: JsonValue, by: str, at: datetime) -> Change:
    """A change that a person makes himself, now."""
    return Change(op, target, value, f"{by}, {at.isoformat(timespec='seconds')}", at)


def _first(tables: Tables, run: RunId) -> int:
    launch = tables.launch(run) or {}
    number = entries(entries(launch.get("documents")).get("contract")).get("version", 1)
    return number if isinstance(number, int) else 1
