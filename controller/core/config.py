"""The configuration: how runs of a repository are made. It says nothing about what they are for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend. None: no such limit. Seconds and US dollars."""

    steps: int | None = None
    seconds: int | None = None
    until: datetime | None = None
    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    refusals_in_a_row: int = 5
    recent: int = 3
    reverse_check: int = 5

    @property
    def any(self) -> bool:
        """Whether anything ends a run that goes on and on."""
        return (self.steps, self.seconds, self.until, self.usd, self.input_tokens,
                self.output_tokens) != (None,) * 6


@dataclass(frozen=True, slots=True)
class Approvals:
    """What a run does while a person is to answer (park, wait, continue), how long a question is
    open, and how long a run waits before it parks. Seconds.
    """

    mode: str = "park"
    expires: int = 7 * 86400
    wait: int = 8 * 3600


@dataclass(frozen=True, slots=True)
class Clocks:
    """How long a call may last, in seconds: to its first byte, between two bytes, in all."""

    first: float = 300.0
    idle: float = 180.0
    total: float = 600.0


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model interface a run uses and how. Timeouts in seconds. `key` names the variable of
    the user's environment that holds the key, when it is not the interface's own.
    """

    adapter: str = "claude_cli"
    model: str | None = None
    base_url: str | None = None
    key: str | None = None
    binary: str | None = None
    command: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    api: str = "responses"
    dialect: str = "auto"
    thinking: bool = True
    cache: str = "5m"
    max_output_tokens: int = 8192
    first_timeout: int = 300
    idle_timeout: int = 180
    total_timeout: int = 600
    cassette: str | None = None

    @property
    def clocks(self) -> Clocks:
        """How long a call may last."""
        return Clocks(self.first_timeout, self.idle_timeout, self.total_timeout)


FIRST_MODEL = "model"
"""What the model interface is called that the configuration has under `model`."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Who is asked. `order`: the names of the models, the first that can answer is asked; `phases`:
    those that come first while a run plans, implements or repairs. After `escalate_after` refusals
    in a row the next one is asked. `on_limit` is "next", or "wait": until the usage limit is over.
    """

    order: tuple[str, ...] = (FIRST_MODEL,)
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    escalate_after: int = 3
    on_limit: str = "next"

    @property
    def everybody(self) -> frozenset[str]:
        """All names that are asked in some phase."""
        return frozenset(self.order).union(*self.phases.values())

    def for_phase(self, phase: str) -> tuple[str, ...]:
        """Everybody, in the order in which they are asked in a phase."""
        return tuple(dict.fromkeys((*self.phases.get(phase, ()), *self.order)))


@dataclass(frozen=True, slots=True)
class Retry:
    """How long a run goes on asking. Seconds: of failures without a reply (`outage`), until a usage
    limit is asked about again at the latest (`longest_wait`). After `tries` failures in a row the
    next model is asked.
    """

    outage: int = 4 * 3600
    longest_wait: int = 12 * 3600
    tries: int = 4


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


ADOPT, ASK, STOP = "adopt", "ask", "stop"
"""What becomes of a run when something that it builds on is another now: it goes on and the model
is told, a person is asked, it stands still.
"""


@dataclass(frozen=True, slots=True)
class ForgeConfig:
    """The forge of a repository. `token` may name a variable ($…). Seconds: for how long what it
    said is recent enough (`refresh`), and how far apart two looks are that must agree before checks
    are believed to have said their last word (`settle`).
    """

    kind: str  # github, gitlab or command
    repo: str = ""
    api: str = ""
    token: str = ""
    remote: str = "origin"
    base: str = "main"
    issue: int | None = None
    command: str = ""
    refresh: int = 60
    settle: int = 30


@dataclass(frozen=True, slots=True)
class DriftConfig:
    """What becomes of a run when one of these is another than before: adopt, ask or stop."""

    remote: str = ASK
    protection: str = ASK
    issue: str = ASK
    ci: str = ADOPT


@dataclass(frozen=True, slots=True)
class Config:
    """How runs of this repository are made; says nothing about what they are for."""

    models: Mapping[str, ModelConfig] = field(
        default_factory=lambda: {FIRST_MODEL: ModelConfig()})
    routing: Routing = field(default_factory=Routing)
    retry: Retry = Retry()
    prices: Mapping[str, Price] = field(default_factory=dict)
    limits: Limits = Limits()
    approvals: Approvals = Approvals()
    forge: ForgeConfig | None = None
    drift: DriftConfig = DriftConfig()
    domain: str = "coding"
    skill: str | None = None
    test_command: str | None = None
    issue_file: str | None = None
