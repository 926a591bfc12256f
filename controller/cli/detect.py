"""What a repository and a machine show of a project's tools, to be proposed by `init`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from controller.settings import Settings

_ENVIRONMENTS = (".venv/bin", "venv/bin", "env/bin", "node_modules/.bin")
"""Folders that a project's tools are often in, in the checkout."""

_LANGUAGES = {
    "pyproject.toml": ("python3",), "setup.py": ("python3",), "requirements.txt": ("python3",),
    "package.json": ("node",), "Cargo.toml": ("cargo",), "go.mod": ("go",),
    "Gemfile": ("ruby",), "mix.exs": ("mix", "erl"), "pom.xml": ("java", "mvn"),
}
"""A file -> the programs that such a project is built with."""

_SETUPS = {
    "uv.lock": ("UV_PROJECT_ENVIRONMENT=$ONESHOT_ENV/venv uv sync --frozen --no-install-project",),
    "requirements.txt": ("python3 -m venv $ONESHOT_ENV/venv",
                         "$ONESHOT_ENV/venv/bin/pip install -r requirements.txt"),
    "package-lock.json": ("cp package.json package-lock.json $ONESHOT_ENV",
                          "npm ci --ignore-scripts --prefix $ONESHOT_ENV"),
}
"""A lockfile -> commands that install what it names."""

_INSTALLED = {"uv.lock": "$ONESHOT_ENV/venv/bin", "requirements.txt": "$ONESHOT_ENV/venv/bin",
              "package-lock.json": "$ONESHOT_ENV/node_modules/.bin"}
"""A lockfile -> the folder on PATH that they install."""

_SYSTEM = ("/usr/", "/bin/", "/sbin/")


@dataclass(frozen=True, slots=True)
class Tools:
    """What commands should find: folders on PATH, more to mount, variables; and, where nothing is
    installed yet, commands that install what a lockfile names.
    """

    path: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    setup: tuple[str, ...] = ()
    source: str = ""


def tools(root: Path, settings: Settings) -> Tools:
    """What this checkout on this machine shows."""
    ready = tuple(name for name in _ENVIRONMENTS if (root / name).is_dir())
    wanted = [program for file, programs in _LANGUAGES.items() if (root / file).exists()
              for program in programs]
    folders = dict.fromkeys(place for program in wanted for place in _outside(program, settings))
    lock = next((name for name in _SETUPS if (root / name).exists()), "") if not ready else ""
    mounts, variables = _caches(wanted, settings.home)
    return Tools(
        (*ready, *([_INSTALLED[lock]] if lock else []), *folders),
        (*dict.fromkeys(_prefix(folder) for folder in folders), *mounts), variables,
        _SETUPS.get(lock, ()), lock)


def _outside(program: str, settings: Settings) -> Iterator[str]:
    """The folder of a program that is not among the system's: pyenv, nvm, rustup, asdf."""
    found = settings.find(program)
    if found and not found.startswith(_SYSTEM):
        yield str(Path(found).resolve().parent)


def _prefix(folder: str) -> str:
    """What a folder of programs belongs to."""
    place = Path(folder)
    return str(place.parent if place.name == "bin" else place)


def _caches(programs: list[str], home: Path) -> tuple[list[str], dict[str, str]]:
    """Folders of downloaded packages that some tools look for in a home folder."""
    mounts, variables = list[str](), dict[str, str]()
    if "cargo" in programs and (home / ".cargo").is_dir():
        mounts += [f"~/{name}" for name in (".cargo", ".rustup") if (home / name).is_dir()]
        variables |= {"CARGO_HOME": str(home / ".cargo"), "RUSTUP_HOME": str(home / ".rustup"),
                      "CARGO_NET_OFFLINE": "true"}
    if "go" in programs and (home / "go").is_dir():
        mounts += ["~/go"]
        variables |= {"GOPATH": str(home / "go"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    return mounts, variables
