"""What became of a run that came to harm: nothing lost, doubled or half done, or what was."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from controller.checkout import open_checkout
from controller.core.canonical import JsonObject, entries
from controller.core.head import Head, RunId, Stop
from controller.store.queries import Queries
from controller.store.sqlite import open_tables
from tests.crash import actors
from tests.crash.faults import Case, Harm
from tests.crash.stage import BLIND, DEPLOY, SCENARIOS, STEPS, Stage, staged

_NAMES = ("a.txt", "b.txt", "log.txt", "second.txt")
_ROUNDS = 6  # resumes until a run stands at its limit


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was wrong with one case; all empty: it is as if nothing had happened."""

    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    half_done: tuple[str, ...] = ()
    unknown: int = 0  # outcomes that a person was asked about
    unclear: tuple[str, ...] = ()  # endings without a sentence that a person understands


Judge = Callable[[Stage, Case, Harm], Judgement]


@dataclass(slots=True)
class Record:
    """The record of the one run of a stage, read."""

    stage: Stage
    audit: list[JsonObject] = field(default_factory=list)
    head: Head | None = None
    run: RunId | None = None

    def __post_init__(self) -> None:
        database = self.stage.repo / ".agent-runtime/oneshot.db"
        if not database.exists():
            return
        queries = Queries(open_tables(database))
        for self.run in queries.runs()[-1:]:
            self.audit, self.head = list(queries.audit(self.run)), queries.head(self.run)
        queries.tables.connection.close()  # type: ignore[attr-defined]  # they are SQLite's

    @property
    def committed(self) -> list[JsonObject]:
        """The committed steps."""
        return [record for record in self.audit if record["kind"] == "committed"]


def tried(source: Path, folder: Path, case: Case, how: Callable[[Stage, Case], Harm],
          judge: "Judge | None" = None) -> Judgement:
    """Set a case up, let it come to harm, help it up, and judge what became of it."""
    stage = staged(source, folder, case.scenario)
    try:
        harm = how(stage, case)
        return (judge or judged)(stage, case, harm)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judged(stage: Stage, case: Case, harm: Harm) -> Judgement:
    """Go on until the run has taken its steps, and compare."""
    before = Record(stage).audit
    unclear = list(_unclear(case, harm))
    unknown = _go_on(stage, unclear)
    after = Record(stage)
    lost = _steps(before, after)
    doubled: list[str] = []
    half_done: list[str] = []
    _outside(stage, after, lost, doubled)
    _branch(stage, after, lost, doubled)
    for number, (found, wanted) in _files(stage, after).items():
        if found != wanted:
            half_done.append(f"{number}: {found!r}, expected {wanted!r}")
    return Judgement(tuple(lost), tuple(doubled), tuple(half_done), unknown, tuple(unclear))


def rolled_back(stage: Stage, case: Case, harm: Harm) -> Judgement:
    """A rollback that was killed: resumed, the run is at one end of it or at the other, whole."""
    before, unclear = Record(stage).audit, list(_unclear(case, harm))
    actors.wait(stage, actors.start(stage, *actors.again(stage)))
    after = Record(stage)
    assert after.head is not None
    lost = ["records that were written are gone"] * (
        [link["hash"] for link in after.audit[:len(before)]] != [link["hash"] for link in before])
    ends = [{**dict.fromkeys(_NAMES[:2], "zero\n"), **dict.fromkeys(_NAMES[2:], "")},
            {name: wanted for name, (_, wanted) in _files(stage, after).items()}]
    found = {name: text for name, (text, _) in _files(stage, after).items()}
    restored = any(entries(record["action"])["kind"] == "restore" for record in after.committed)
    whole = found == ends[0 if restored else 1]
    return Judgement(tuple(lost), (), () if whole else (f"restored: {restored}, {found}",), 0,
                     tuple(unclear))


def _go_on(stage: Stage, unclear: list[str]) -> int:
    """Resume until the run stands at its limit, with a person who looks where nobody can tell."""
    unknown = 0
    for _ in range(_ROUNDS):
        record = Record(stage)
        if record.head is None:
            actors.wait(stage, actors.start(stage, *actors.new(stage)))
            continue
        stopped = record.head.stopped
        if stopped and stopped.why is Stop.LIMIT:
            return unknown
        if stopped and stopped.why is Stop.WAITING:
            unknown += 1
            happened = any("blind" in line for line in stage.deployed)
            actors.wait(stage, actors.start(stage, "decide", "u2",
                                            "happened" if happened else "did-not"))
        ended = actors.wait(stage, actors.start(stage, *actors.again(stage)))
        if ended.code not in (3, 8):
            unclear.append(f"resume: exit {ended.code}: {ended.said}")
    return unknown


def _unclear(case: Case, harm: Harm) -> list[str]:
    """A fault of the machine ends with exit 1 and one sentence; a lost lease with exit 10."""
    found = []
    wanted = {"SIGKILL": (-9, 3, 0, 8), "SIGTERM": (143, 3), "EIO": (1, 3, 0), "ENOSPC": (1, 3, 0),
              "SIGSTOP": (3, 8)}[case.fault]
    if harm.ended.code not in wanted or "Traceback" in harm.ended.said:
        found.append(f"exit {harm.ended.code}: {harm.ended.said}")
    if harm.zombie and harm.zombie.code not in (10, 3, 8):
        found.append(f"zombie: exit {harm.zombie.code}: {harm.zombie.said}")
    return found


def _steps(before: list[JsonObject], after: Record) -> list[str]:
    """What was in the record stays there, and every step is committed once."""
    lost = []
    if [record["hash"] for record in after.audit[:len(before)]] != [
            record["hash"] for record in before]:
        lost.append("records that were written are gone")
    steps = [record["step"] for record in after.committed]
    if steps != list(range(1, STEPS + 1)):
        lost.append(f"the committed steps are {steps}")
    return lost


def _outside(stage: Stage, after: Record, lost: list[str], doubled: list[str]) -> None:
    """Every external effect happened once."""
    wanted = sum(action.get("shell") in (DEPLOY, BLIND) for action in SCENARIOS[stage.scenario])
    keys = Counter(line.split()[0] for line in stage.deployed)
    doubled += [f"{key} was deployed {times} times" for key, times in keys.items() if times > 1]
    if len(keys) < wanted:
        lost.append(f"{len(keys)} of {wanted} deployments")
    if len(keys) > wanted:
        doubled.append(f"{len(keys)} deployments instead of {wanted}")


def _branch(stage: Stage, after: Record, lost: list[str], doubled: list[str]) -> None:
    """Every Git commit is on the user's branch once."""
    wanted = sum(action["kind"] == "commit" for action in SCENARIOS[stage.scenario])
    user = open_checkout(stage.repo)
    branch = f"refs/heads/oneshot/{after.run}"
    made = len(user.log("refs/heads/main", branch, 9)) if user.ref(branch) else 0
    if made < wanted:
        lost.append(f"{made} of {wanted} Git commits are delivered")
    if made > wanted:
        doubled.append(f"{made} Git commits instead of {wanted}")
    if wanted and made and user.commit(branch) != str(entries(
            after.committed[-1]["outcome"])["git_commit"]):
        lost.append("the branch is not at the Git commit of the record")


def _files(stage: Stage, after: Record) -> dict[str, tuple[str, str]]:
    """name -> (what is there, what must be there): each action has happened whole, once."""
    actions = SCENARIOS[stage.scenario]
    edited = any(action["kind"] == "edit" for action in actions)
    lines = "line\n" * sum("second.txt" in str(action) for action in actions)
    wanted = {"a.txt": "one\n" if edited else "zero\n", "b.txt": "one\n" if edited else "zero\n",
              "log.txt": lines, "second.txt": lines}
    root = max((stage.folder / f"cache/oneshot/{after.run}").glob("work*"), key=_number)
    return {name: ((root / name).read_text() if (root / name).exists() else "", text)
            for name, text in wanted.items()}


def _number(work: Path) -> int:
    """The newest worktree is the one with the highest number."""
    last = work.name.rpartition("-")[2]
    return int(last) if last.isdigit() and ".aside" not in work.name else -("." in work.name)
