"""The only reader of the environment: where things live and which keys are held."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from controller.core.errors import SetupError

KEYS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY")
"""The variables that a model interface may take its key from."""

_SHARED = Path("/var/cache")
"""Where caches of root's are: the unprivileged user that its commands run as can reach it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What this process was started with."""

    home: Path
    cache: Path
    state: Path  # the folder of the signing key
    path: str
    keys: dict[str, str] = field(repr=False)
    variables: dict[str, str] = field(default_factory=dict, repr=False)
    user: str = "user"  # who starts this, for the record

    def named(self, written: str, where: str) -> str:
        """A value of a configuration as it is written, or what the variable holds that it names
        with a $. Raises SetupError, which says `where`, when that is not set.
        """
        if not written.startswith("$"):
            return written
        if written[1:] not in self.variables:
            raise SetupError(f"config.yaml: {where} names the variable {written[1:]}, which is not "
                             "set")
        return self.variables[written[1:]]

    def find(self, program: str) -> str | None:
        """The absolute path of a program on PATH, or None."""
        import shutil

        found = shutil.which(program, path=self.path)
        return str(Path(found).absolute()) if found else None


def from_environment() -> Settings:
    """The settings of this process."""
    home = Path(os.environ.get("HOME") or "/nonexistent")
    return Settings(
        home=home,
        cache=_folder("XDG_CACHE_HOME", _SHARED if os.geteuid() == 0 else home / ".cache"
                      ) / "oneshot",
        state=_folder("XDG_STATE_HOME", home / ".local/state") / "oneshot",
        path=os.environ.get("PATH", os.defpath),
        keys={name: os.environ[name] for name in KEYS if os.environ.get(name)},
        variables=dict(os.environ),
        user=_user())


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def checkout_root(folder: Path) -> Path:
    """The top of the Git checkout around a folder. Raises SetupError when there is none."""
    for root in (folder, *folder.parents):
        if (root / ".git").exists():
            return root
    if not folder.is_dir():
        raise SetupError(f"{folder} is no folder")
    raise SetupError(f"{folder} is in no Git checkout; run `git init` and commit first")


def _folder(name: str, otherwise: Path) -> Path:
    """An XDG folder; a relative one is ignored, as the specification has it."""
    value = os.environ.get(name, "")
    return Path(value) if value.startswith("/") else otherwise
