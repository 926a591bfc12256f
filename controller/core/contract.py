"""The intent contract, the policy and the configuration: what people write, as values.

Read from `.agent-contract/` by `controller.project`, which checks them against the schemas in
`contracts/schemas/` first; nothing here is ever written by a model.
"""

from dataclasses import dataclass
from typing import TypeAlias

from controller.core.action import Command
from controller.core.glob import matches

RUNNERS = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini",
    "setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py", "package.json", ".npmrc",
    "jest.config.*", "vitest.config.*", ".mocharc.*", "Makefile", "makefile", "GNUmakefile",
    ".gitattributes", ".github/**", ".gitlab-ci.yml",
)
"""Files that decide how tests are run, or what a checkout holds: always protected, new ones too."""


@dataclass(frozen=True, slots=True)
class CommandCheck:
    """Holds when the command exits with `expect_exit` in a clean export of the Git commit."""

    command: Command
    expect_exit: int = 0


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Holds when the file exists in the Git commit (and has the text, if one is given)."""

    path: str
    contains: str | None = None


Check: TypeAlias = CommandCheck | FileCheck


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that must be proved before the run is done."""

    id: str
    text: str
    check: Check


@dataclass(frozen=True, slots=True)
class Contract:
    """What this run is for and must not touch. Belongs to the user."""

    goal: str
    success_criteria: tuple[Criterion, ...]
    locked_requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    allow_paths: tuple[str, ...] = ()
    forbid_paths: tuple[str, ...] = ()
    max_files: int | None = None
    non_goals: tuple[str, ...] = ()
    approval_boundaries: tuple[str, ...] = ()
    must_remember: tuple[str, ...] = ()
    priority_order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """What the commands of a run find: folders before PATH, and variables."""

    path: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class External:
    """A command that changes something outside the worktree, and the probe that tells whether it
    has: exit 0: it happened, 3: it did not, anything else: nobody can tell.
    """

    command: Command
    probe: Command | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Which actions are refused or asked about, whatever the contract says."""

    protected_paths: tuple[str, ...] = ()
    shadows: frozenset[str] = frozenset()  # files that would be run in place of a check's
    forbidden_commands: tuple[str, ...] = ()
    confirm_commands: tuple[str, ...] = ()
    timeout: int = 300
    max_timeout: int = 1800
    output_bytes: int = 8 * 1024 * 1024
    environment: Environment = Environment()
    external: tuple[External, ...] = ()

    def listed(self, command: Command) -> External | None:
        """The external command that this command line is, word for word, if it is one: as a line
        for the shell or as its list of arguments.
        """
        lines = {str(command), str(command).strip()}
        return next((item for item in self.external if str(item.command) in lines), None)

    def protects(self, path: str, *, new: bool) -> bool:
        """Whether a person must agree to a change of this file.

        A new test is welcome; a changed one is not, nor is a new file that would be run in the
        place of what a check names.
        """
        return (matches(path, RUNNERS) or path in self.shadows
                or (not new and matches(path, self.protected_paths)))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend. None: no such limit. Seconds and US dollars."""

    steps: int | None = 100
    seconds: int | None = None
    usd: float | None = None
    refusals_in_a_row: int = 5
    recent: int = 3


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model interface a run uses and how. Timeouts in seconds."""

    adapter: str = "claude_cli"
    model: str | None = None
    base_url: str | None = None
    binary: str | None = None
    api: str = "responses"
    strict: bool = True
    max_output_tokens: int = 8192
    total_timeout: int = 600
    idle_timeout: int = 180
    cassette: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """How runs of this repository are made; says nothing about what they are for."""

    model: ModelConfig = ModelConfig()
    limits: Limits = Limits()
    domain: str = "coding"
    skill: str | None = None
    test_command: str | None = None
