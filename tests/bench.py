"""A workplace on a real checkout, and a way to perform one action there: the fixture `bench`."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.actions.hands import Hands
from controller.actions.workplace import Workplace
from controller.authorities.git import Git
from controller.checkout import create, open_checkout
from controller.commands import Shell
from controller.core.aim import aim
from controller.core.canonical import JsonObject
from controller.core.facts import Snapshot, Source
from controller.core.head import Head, RunId, Spent
from controller.core.parse import parse
from controller.core.policy import Policy
from controller.core.records import Candidate, Effect, Outcome, Remains, Transition, effect_id
from controller.core.tier import Tier
from controller.repo import Identity, Repo
from controller.sandbox.choice import Sandbox, unprivileged
from controller.snapshots import Snapshots
from controller.store.memory import MemoryTables
from controller.store.queries import Queries
from controller.testing.clock import MORNING, FixedClock

RUN = RunId("run-1")
BUBBLEWRAP = Sandbox(Tier.BUBBLEWRAP, unprivileged())


@dataclass(frozen=True, slots=True)
class Bench:
    """One run's worktree, and hands that work there."""

    place: Workplace
    git: Git

    @property
    def root(self) -> Path:
        return self.place.root

    @property
    def hands(self) -> Hands:
        return Hands(self.place)

    def effect(self, document: JsonObject, source: Source | None = None) -> Effect:
        head = Head(RUN, 3, {}, "", spent=Spent(steps=4))
        transition = Transition(3, {}, parse(document), {
            "action": document, "state_patch": {}, "expected_version": 3})
        source = source or self.git.observe(head).source
        meant = aim(transition.action, source, self.place.shell.policy)
        return Effect(effect_id(RUN, 3, transition), Candidate(head, transition, {}, source.tree),
                      meant, source, MORNING, 1)

    def resume(self, effect: Effect, happened: bool | None = None) -> Outcome:
        return self.hands.resume(effect, Remains(happened, "as the test says"))

    def perform(self, document: JsonObject) -> Outcome:
        return self.hands.perform(self.effect(document))


@pytest.fixture
def bench(checkout: Path, tmp_path: Path) -> Bench:
    user, work = open_checkout(checkout), tmp_path / "cache/work"
    create(tmp_path / "repo.git", user)
    repo = Repo(tmp_path / "repo.git", work, tmp_path / "repo.git/worktree.index")
    scratch = tmp_path / "cache/scratch"
    scratch.mkdir(parents=True)
    work.mkdir()
    base = user.commit("HEAD")
    snapshots = Snapshots(repo, base)
    snapshots.restore(Snapshot(repo.tree_of(base)))
    clock = FixedClock()
    shell = Shell(Policy(timeout=20, output_bytes=2_000_000), scratch, str(scratch), BUBBLEWRAP)
    place = Workplace(RUN, snapshots, shell, user, Identity(), Queries(MemoryTables()), clock)
    return Bench(place, Git(snapshots, user, "oneshot/run-1", base, clock))
