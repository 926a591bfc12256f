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


@dataclass(frozen=True, slots=True)
class Config:
    """How runs of this repository are made; says nothing about what they are for."""

    model: ModelConfig = ModelConfig()
    limits: Limits = Limits()
    approvals: Approvals = Approvals()
    domain: str = "coding"
    skill: str | None = None
    test_command: str | None = None
