"""What the commands that go back in time share: the points of a run, and steps of our own."""

from controller.cli.house import House
from controller.cli.place import Place, branch_of
from controller.cli.tidy import KEPT
from controller.cli.wiring import build, journal
from controller.core.canonical import JsonObject, entries
from controller.core.errors import SetupError, WorldError
from controller.core.head import Head, Launch, Lease, RunId
from controller.core.migrations import VERSION, migrated, version_of
from controller.core.ports import Model
from controller.core.projection import tree_of
from controller.loop import own
from controller.repo import ABSENT
from controller.report.narrator import action_line
from controller.sandbox.choice import NO_COMMANDS
from controller.snapshots import Snapshots
from controller.store.points import Point

NOBODY: dict[str, Model] = {}
"""The models of what asks none."""


def take_back(place: Place, lease: Lease, point: Point, reason: str) -> Head:
    """A new version of the run that equals an old point, in state and worktree.

    Raises SetupError when the snapshot of that point is not kept any more.
    """
    store, fixed = journal(place), place.launch(lease.run)
    require(House(place, fixed).worktree(lease.worktree), point)
    ctl = build(place, fixed, NOBODY, store, NO_COMMANDS, lease)
    head = store.head(lease.run)
    action: JsonObject = {
        "kind": "restore", "step": point.step, "state": state_now(point, fixed),
        "tree": point.snapshot.tree, "extras": point.snapshot.extras,
        "observation": point.observation, "heard": point.heard, "reason": reason}
    given_up = store.open_effect(lease.run)
    if given_up:  # a Git commit that was not delivered yet must not come along with the next
        repo, ref = House(place, fixed).bare(), f"refs/heads/{branch_of(lease.run)}"
        repo.unlock(ref)
        repo.move_ref(ref, given_up.source.head, repo.ref(ref) or ABSENT)
    after = own(ctl, lease, head, ctl.authority.observe(head), action, given_up)
    if tree_of(after.state) != point.snapshot.tree:
        raise WorldError(f"the worktree could not be brought back to step {point.step}: "
                         f"{after.observation}")
    return after


def state_now(point: Point, fixed: Launch) -> JsonObject:
    """The state of a point under the schema that the run has now."""
    schema = entries(fixed.documents["state_schema"])
    same = point.state.get(VERSION, 1) == version_of(schema)
    return migrated(point.state, schema if same else {"$id": schema.get("$id")}, schema)


def require(snapshots: Snapshots, point: Point) -> None:
    """Raise SetupError when the snapshot of a point is not kept any more."""
    if not snapshots.has(point.snapshot):
        raise SetupError(f"the snapshot of step {point.step} is not kept any more: only those of "
                         f"the last {KEPT} records are")


def external_since(place: Place, run: RunId, step: int) -> list[str]:
    """What changed something outside the worktree after a step, a line each."""
    found = [f"step {record['step']}: {action_line(record)}" for record in place.queries.audit(run)
             if record.get("effect_class") == "external"
             and record["kind"] in ("committed", "abandoned")
             and int(str(record["step"])) > step]
    open_one = place.queries.effect(run)
    if open_one and open_one.get("effect_class") == "external":
        action = entries(entries(open_one["document"])["action"])
        found.append(f"the open effect: {action_line({'action': action})}, perhaps")
    return found


def not_undone(lines: list[str]) -> SetupError:
    """That a way back does not undo what happened elsewhere."""
    return SetupError("since then the run has changed something outside its worktree, which this "
                      "does not undo:\n  " + "\n  ".join(lines)
                      + "\nadd --accept-external to go back all the same")
