"""What an endpoint can be held to, as it was found out, kept from one call to the next."""

from dataclasses import dataclass, field
from pathlib import Path

from controller.core.canonical import JsonObject, entries
from controller.scraps import read_scrap, write_scrap

DIALECTS = ("strict", "object", "tool", "plain")
"""From the firmest structure to none."""


@dataclass(slots=True)
class Endpoint:
    """The dialect that one endpoint is asked in. `fixed`: the user has chosen it."""

    memory: Path | None
    key: str
    fixed: str | None = None
    known: JsonObject = field(init=False)

    def __post_init__(self) -> None:
        known = read_scrap(self.memory) if self.memory else {}
        self.known = dict(entries(known.get(self.key)))

    @property
    def dialect(self) -> str:
        """What it is asked in now."""
        return self.fixed or str(self.known.get("dialect", DIALECTS[0]))

    @property
    def quiet(self) -> bool:
        """Whether it is asked not to think: it did nothing else."""
        return self.known.get("quiet") is True

    def lower(self) -> bool:
        """Ask in the next dialect from now on. False: the user has chosen this one, or it is the
        last.
        """
        place = DIALECTS.index(self.dialect) + 1
        if self.fixed or place == len(DIALECTS):
            return False
        self._remember("dialect", DIALECTS[place])
        return True

    def quieten(self) -> None:
        """Ask it not to think from now on."""
        self._remember("quiet", True)

    def _remember(self, name: str, value: str | bool) -> None:
        self.known[name] = value
        if self.memory:
            write_scrap(self.memory, {**read_scrap(self.memory), self.key: self.known})
