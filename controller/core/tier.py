"""How a command was confined. Recorded with everything that came of it."""

from enum import IntEnum


class Tier(IntEnum):
    """Which walls stood around a command; a smaller number but 0 is a stronger promise."""

    NONE = 0  # by an explicit flag only: your rights, your files, your network
    BUBBLEWRAP = 1  # namespaces: own files, processes and network
    LANDLOCK = 2  # Landlock and seccomp: writes confined, no sockets but local ones
    EXTERNAL = 3  # a container or virtual machine that the person running us has declared

    @property
    def word(self) -> str:
        """The tier in a word, for people."""
        return _WORDS[self]


_WORDS = {Tier.NONE: "no sandbox", Tier.BUBBLEWRAP: "bubblewrap", Tier.LANDLOCK: "Landlock",
          Tier.EXTERNAL: "declared external sandbox"}
