"""A clock that stands still until somebody sleeps."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MORNING = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


@dataclass(slots=True)
class FixedClock:
    """Time as a test says it is."""

    time: datetime = MORNING

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
