"""The intent contract as a value: what a run is for and must not touch. No model writes it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from controller.core.action import Command


@dataclass(frozen=True, slots=True)
class Governance:
    """Where an item of the contract comes from, and who may change it.

    `source` is `file:line@digest`, or who said it and when. `freshness`: seconds after which it is
    stale unless it is said again. `since` is the contract version that brought it, `supersedes`
    (`id@version`) what it took the place of. What `retention` and `change_policy` mean is written
    in the schema `intent-contract`.
    """

    source: str = ""
    owner: str = "user"
    retention: str = "always"
    freshness: int | None = None
    change_policy: str = "ask"
    supersedes: str = ""
    since: int = 1
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that the user has said, word for word, under an id of its own."""

    id: str
    text: str
    governance: Governance = Governance()


@dataclass(frozen=True, slots=True)
class Expected:
    """What the report of a test runner must say, beside its exit code.

    `report`: where the command writes JUnit files: a pattern in the worktree, or below
    $ONESHOT_REPORT; `tap`: its output is TAP; empty: pytest is told to write one. Tests by their
    ids (`core.results.test_id`). Without `pass_to_pass`, what passed on the base must pass.
    """

    report: str = ""
    required: tuple[str, ...] = ()
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    minimum: int = 1
    skips: bool = False  # tests may be skipped that were not on the base

    @property
    def asks(self) -> bool:
        """Whether it wants something that only a report can tell."""
        return bool(self.required or self.fail_to_pass or self.pass_to_pass or self.minimum > 1)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Files that no model has seen: those of the folder `source` are laid into the export as `to`,
    and nothing of what the check says is shown but that it holds or not.
    """

    source: str  # absolute, ~ or relative to the user's checkout, where Git must ignore it
    to: str


@dataclass(frozen=True, slots=True)
class CommandCheck:
    """Holds when the command exits with `expect_exit` in a clean export of the Git commit, and
    its output, report and coverage are as wanted: in at least `passes` of `runs` runs.
    """

    command: Command
    expect_exit: int = 0
    output: str = ""  # a regular expression that its output has to match somewhere
    tests: Expected = Expected()
    coverage: str = ""  # a Cobertura report that it writes, found as `Expected.report` is
    runs: int = 1
    passes: int = 1
    canary: bool = True  # a test that must fail is added, to see that failures are told
    held_out: HeldOut | None = None


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Holds when the file exists in the Git commit (and has the text, if one is given)."""

    path: str
    contains: str | None = None


@dataclass(frozen=True, slots=True)
class PersonCheck:
    """Holds when a person has looked at the very Git commit and says so."""

    question: str


@dataclass(frozen=True, slots=True)
class GitCheck:
    """Holds when Git says so of the Git commit. `based_on`: a branch of the user's repository whose
    Git commits it has; `touches`: it changes no other files than those.
    """

    based_on: str = ""
    no_merges: bool = False
    touches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostedCheck:
    """Holds when a check of the forge's has succeeded on the very Git commit that was pushed.

    `app` is who must report it (`own`: the forge's own CI; `any`: anybody; empty: a commit status);
    `accept` are the states that count, and nothing else does.
    """

    name: str
    app: str
    accept: tuple[str, ...] = ("success",)


@dataclass(frozen=True, slots=True)
class ProbeCheck:
    """Holds when a probe of the policy's says so: its result matches `expect`."""

    probe: str
    expect: str


Check: TypeAlias = CommandCheck | FileCheck | GitCheck | HostedCheck | ProbeCheck | PersonCheck


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that must be proved before the run is done."""

    id: str
    text: str
    check: Check
    governance: Governance = Governance()


@dataclass(frozen=True, slots=True)
class Constraint:
    """One limit on how. What has no typed part is prose for the model; the rest is checked by the
    controller at each action. Money in US dollars.
    """

    id: str
    text: str = ""
    governance: Governance = Governance()
    allow_paths: tuple[str, ...] = ()
    forbid_paths: tuple[str, ...] = ()
    protect_paths: tuple[str, ...] = ()
    max_files: int | None = None
    max_lines: int | None = None
    no_new_dependencies: bool = False
    public_api: tuple[str, ...] = ()  # globs of Python files whose public signatures stay
    forbid_commands: tuple[str, ...] = ()
    forbid_imports: tuple[str, ...] = ()
    must_pass: Command | None = None
    deadline: datetime | None = None
    max_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """What this run is for and must not touch. Belongs to the user. Its version grows with every
    change that he makes while the run is going.
    """

    goal: str
    success_criteria: tuple[Criterion, ...]
    locked_requirements: tuple[Item, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    non_goals: tuple[Item, ...] = ()
    approval_boundaries: tuple[Item, ...] = ()
    must_remember: tuple[Item, ...] = ()
    priority_order: tuple[Item, ...] = ()
    version: int = 1

    @property
    def governed(self) -> tuple[tuple[str, str, Governance], ...]:
        """(id, text, governance) of everything in it that the user has said, but for the goal."""
        return tuple((item.id, item.text, item.governance) for group in (
            self.success_criteria, self.locked_requirements, self.constraints, self.non_goals,
            self.approval_boundaries, self.must_remember, self.priority_order) for item in group)
