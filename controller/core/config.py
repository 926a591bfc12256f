"""The configuration: how runs of a repository are made. It says nothing about what they are for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend. None: no such limit. Seconds and US dollars."""

    steps: int | None = 100
    seconds: int | None = None
    usd: float | None = None
    refusals_in_a_row: int = 5
    recent: int = 3
    reverse_check: int = 5


@dataclass(frozen=True, slots=True)
class Approvals:
    """What a run does while a person is to answer (park, wait, continue), how long a question is
    open, and how long a run waits before it parks. Seconds.
    """

    mode: str = "park"
    expires: int = 7 * 86400
    wait: int = 8 * 3600


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

    model: ModelConfig = ModelConfig()
    limits: Limits = Limits()
    approvals: Approvals = Approvals()
    forge: ForgeConfig | None = None
    drift: DriftConfig = DriftConfig()
    domain: str = "coding"
    skill: str | None = None
    test_command: str | None = None
    issue_file: str | None = None
