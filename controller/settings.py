"""The only reader of the environment: where things live and which keys are held."""

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

KEYS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY")
"""The variables that a model interface may take its key from."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What this process was started with."""

    home: Path
    cache: Path
    path: str
    keys: dict[str, str] = field(repr=False)
    python: str = sys.executable

    def find(self, program: str) -> str | None:
        """The absolute path of a program on PATH, or None."""
        found = shutil.which(program, path=self.path)
        return str(Path(found).absolute()) if found else None


def from_environment() -> Settings:
    """The settings of this process."""
    home = Path(os.environ.get("HOME") or "/nonexistent")
    return Settings(
        home=home,
        cache=_folder("XDG_CACHE_HOME", home / ".cache") / "oneshot",
        path=os.environ.get("PATH", os.defpath),
        keys={name: os.environ[name] for name in KEYS if os.environ.get(name)})


def _folder(name: str, otherwise: Path) -> Path:
    """An XDG folder; a relative one is ignored, as the specification has it."""
    value = os.environ.get(name, "")
    return Path(value) if value.startswith("/") else otherwise
