"""The model interfaces by name, and how each is built. Others come by the entry point group
`oneshot.adapters`: a name, and an `Adapter`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from controller.core.config import ModelConfig
from controller.core.errors import ModelUnusable, SetupError
from controller.core.ports import Clock, Model
from controller.settings import Settings

GROUP = "oneshot.adapters"


_HERE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Setup:
    """What an adapter is built from. `folder` is its own, `root` the user's checkout; by `mark` is
    found what it has started, when we have died.
    """

    settings: Settings
    config: ModelConfig
    folder: Path
    root: Path
    clock: Clock
    mark: str = ""

    def binary(self, program: str) -> str:
        """The path of a program. Raises ModelUnusable when it is not there."""
        found = self.config.binary or self.settings.find(program)
        if not found:
            raise ModelUnusable(f"{program} is not on PATH; install it, or set model.binary or "
                                "another model.adapter in .agent-contract/config.yaml")
        return found

    def held(self, *names: str) -> dict[str, str]:
        """The first of these keys that the user has, under its name; the configuration may name
        another variable for it. Raises SetupError when that one is not set.
        """
        if self.config.key:
            return {names[0]: self.settings.named(self.config.key, "model.key")}
        return next(({name: self.settings.keys[name]} for name in names
                     if name in self.settings.keys), {})

    def key(self, name: str) -> str:
        """The key of an API. Raises ModelUnusable when there is none; a server on this machine
        needs none.
        """
        found = self.held(name)
        if not found and urlsplit(self.config.base_url or "").hostname not in _HERE:
            raise ModelUnusable(f"this adapter needs a key in the variable {name} (or name another "
                                "one: model.key: $NAME)")
        return found.get(name, "none")

    def model(self) -> str:
        """The model's name. Raises SetupError when there is none."""
        if not self.config.model:
            raise SetupError("this adapter needs --model NAME or model.model in config.yaml")
        return self.config.model


@dataclass(frozen=True, slots=True)
class Adapter:
    """A model interface. `program` is what it starts, `known` the version it was measured with,
    `keys` the variables of its keys; `login` is where its own login lies in the user's home.
    """

    build: Callable[[Setup], Model]
    program: str = ""
    known: str = ""
    keys: tuple[str, ...] = ()
    login: str = ""


def _claude(setup: Setup) -> Model:
    from adapters.child import Child
    from adapters.claude_cli import SPOKEN, ClaudeCli

    config = setup.config
    child = Child(setup.binary("claude"), setup.folder, config.clocks, setup.mark, SPOKEN)
    keys = setup.held("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
    return ClaudeCli(child, config.model, keys, setup.settings.home, setup.settings.path,
                     config.base_url, config.max_output_tokens, config.thinking)


def _codex(setup: Setup) -> Model:
    from adapters.child import Child
    from adapters.codex_cli import COMPLAINT, CodexCli

    config = setup.config
    child = Child(setup.binary("codex"), setup.folder, config.clocks, setup.mark,
                  complaint=COMPLAINT)
    return CodexCli(child, config.model, setup.held("OPENAI_API_KEY"), setup.settings.home,
                    setup.settings.path, setup.clock, config.base_url)


def _pi(setup: Setup) -> Model:
    from adapters.child import Child
    from adapters.pi_cli import KEYS, SPOKEN, TRIPWIRE, PiCli

    config, model = setup.config, setup.model()
    provider = model.rpartition("/")[0]
    if not provider:
        raise SetupError(f"pi_cli: expected --model PROVIDER/NAME, got {model!r}")
    child = Child(setup.binary("pi"), setup.folder, config.clocks, setup.mark, SPOKEN, TRIPWIRE)
    keys = setup.held(KEYS[provider]) if provider in KEYS else {}
    return PiCli(child, model, keys, setup.settings.home, setup.settings.path, config.base_url,
                 max_output_tokens=config.max_output_tokens)


def _command(setup: Setup) -> Model:
    from adapters.child import Child
    from adapters.command import Command

    config = setup.config
    if not config.command:
        raise SetupError("the command adapter needs model.command in config.yaml")
    program, *args = config.command
    found = setup.settings.find(str(setup.root / program) if "/" in program else program)
    if not found:
        raise ModelUnusable(f"{program} is not there, or can't be executed")
    held = {name: setup.settings.named(f"${name}", "model.variables") for name in config.variables}
    return Command(Child(found, setup.folder, config.clocks, setup.mark), args,
                   setup.settings.path, held)


def _anthropic(setup: Setup) -> Model:
    from adapters.anthropic_api import AnthropicApi

    config = setup.config
    return AnthropicApi(setup.model(), setup.key("ANTHROPIC_API_KEY"), config.base_url,
                        config.max_output_tokens, config.clocks, config.cache)


def _openai(setup: Setup) -> Model:
    from adapters.openai_api import OpenAiApi

    config = setup.config
    return OpenAiApi(setup.model(), setup.key("OPENAI_API_KEY"), config.base_url, config.api,
                     config.dialect, config.max_output_tokens, config.clocks, config.thinking,
                     setup.folder / "endpoints.json")


def _scripted(setup: Setup) -> Model:
    from adapters.scripted import Scripted

    if not setup.config.cassette:
        raise SetupError("the scripted adapter needs --cassette FILE or model.cassette")
    model = Scripted(setup.root / setup.config.cassette)
    model.check()
    return model


ADAPTERS: dict[str, Adapter] = {
    "claude_cli": Adapter(_claude, "claude", "2.1.197",
                          ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
                          ".claude/.credentials.json"),
    "codex_cli": Adapter(_codex, "codex", "0.171.0", ("OPENAI_API_KEY",), ".codex/auth.json"),
    "pi_cli": Adapter(_pi, "pi", "0.74.2", ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
                      ".pi/agent/auth.json"),
    "anthropic_api": Adapter(_anthropic, keys=("ANTHROPIC_API_KEY",)),
    "openai_api": Adapter(_openai, keys=("OPENAI_API_KEY",)),
    "command": Adapter(_command),
    "scripted": Adapter(_scripted),
}
"""Name -> adapter, of those that ship with oneshot."""


def names() -> tuple[str, ...]:
    """Every adapter that is installed, ours first."""
    others = sorted(point.name for point in entry_points(group=GROUP))
    return (*ADAPTERS, *(name for name in others if name not in ADAPTERS))


def find(name: str) -> Adapter:
    """The adapter of a name. Raises SetupError for one that is not there, or is none."""
    if name in ADAPTERS:
        return ADAPTERS[name]
    for point in entry_points(group=GROUP, name=name):
        found = point.load()
        if isinstance(found, Adapter):
            return found
        raise SetupError(f"adapter {name}: {point.value} is no adapters.registry.Adapter")
    raise SetupError(f"no adapter {name!r}; there are: {', '.join(names())}")
