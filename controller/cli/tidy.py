"""The retention rule of snapshots: the last KEPT points of a run, and what is named for good."""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.cli.place import Place
from controller.cli.show import talk
from controller.core.canonical import JsonValue, entries
from controller.core.errors import WorldError
from controller.core.facts import Snapshot
from controller.core.head import RunId
from controller.core.projection import agreements, tree_of
from controller.snapshots import Snapshots

KEPT = 1000
"""Audit records back to which a run can be taken back. Of what is older only the record is left."""

EVERY = 200
"""Records after which snapshots are let go of and packed: loose, 200 steps are some 10 MB."""


@dataclass(slots=True)
class Tidy:
    """Tidies up the snapshots of a run while it goes."""

    place: Place
    snapshots: Snapshots | None = None

    def written(self, run: RunId) -> None:
        """Take notice of a new audit record; now and then, tidy up."""
        if self.snapshots and self.place.queries.last_number(run) % EVERY == 0:
            try:
                self.snapshots.prune(_kept(self.place, run))
            except WorldError as fault:  # the run does not need it
                talk(f"note: the snapshots of {run} can't be packed now: {fault}")


def _kept(place: Place, run: RunId) -> Iterator[Snapshot]:
    queries = place.queries
    for record in queries.audit(run, queries.last_number(run) - KEPT):
        yield _snapshot(record.get("outcome"))
    head, effect = queries.head(run), queries.effect(run) or {}
    yield Snapshot(tree_of(head.state), head.extras)
    yield _snapshot(effect.get("source"))
    for tree, _ in agreements(head.state):
        yield Snapshot(tree)


def _snapshot(source: JsonValue) -> Snapshot:
    found = entries(source)
    return Snapshot(str(found.get("tree", "")), str(found.get("extras", "")))
