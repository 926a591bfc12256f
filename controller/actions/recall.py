"""Search this run's own audit trail and artifacts: on demand, never by default."""

from collections.abc import Iterator

from controller.core.action import Recall
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.head import RunId
from controller.core.observation import LIMIT, bounded
from controller.core.ports import Trail

_HITS = 8
_AROUND = 240  # characters shown on each side of a hit


def exposing(trail: Trail, run: RunId) -> bool:
    """Whether the record has text from outside, which a recall may show."""
    return any(entries(record.get("outcome")).get("exposed") for record in trail.audit(run))


def recall(trail: Trail, run: RunId, action: Recall) -> str:
    """An artifact by its digest, an item of the contract by its id, else what the latest steps that
    have the text say around it.
    """
    query = action.query.strip()
    if len(query) >= 8 and all(char in "0123456789abcdef" for char in query):
        data = trail.artifact(query)
        if data is not None:
            return bounded(data.decode("utf-8", "replace"), LIMIT - 200)
    item = trail.item(run, query)
    if item:
        return bounded(f"{query}: {item}", LIMIT - 200)
    hits = list(_hits(trail, run, query))
    if not hits:
        return f"nothing in this run's record has {query!r}"
    return "\n\n".join(hits[-_HITS:])


def _hits(trail: Trail, run: RunId, query: str) -> Iterator[str]:
    for record in trail.audit(run):
        for name, text in _texts(trail, record):
            at = text.lower().find(query.lower())
            if at >= 0:
                excerpt = text[max(0, at - _AROUND):at + len(query) + _AROUND]
                yield f"step {record.get('step', 0)}, {name}: …{excerpt}…"
                break


def _texts(trail: Trail, record: JsonObject) -> Iterator[tuple[str, str]]:
    yield "observation", str(record.get("observation", ""))
    for name in ("action", "patch"):
        yield name, canonical(record.get(name)).decode()
    for name, kept in (("output", record.get("outcome")), ("evicted", record.get("evicted"))):
        whole = trail.artifact(str(entries(kept).get("artifact")))
        yield name, (whole or b"").decode("utf-8", "replace")
