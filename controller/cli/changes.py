"""What the command line may change of a run's configuration: options of several commands."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from controller.cli.wiring import ADAPTERS
from controller.core.canonical import JsonObject, entries
from controller.core.tier import Tier

_LIMITS = {"max_steps": "steps", "max_time": "seconds", "max_cost": "usd"}
_MODEL = ("adapter", "model", "base_url", "cassette")


@dataclass(frozen=True, slots=True)
class Changes:
    """Values for the configuration's `model`, `limits` and `approvals`; what was not given is not
    in it.
    """

    model: JsonObject
    limits: JsonObject
    approvals: JsonObject

    def laid_over(self, documents: JsonObject) -> JsonObject:
        """A run's documents with these values in its configuration."""
        config = dict(entries(documents["config"]))
        config["model"] = {**entries(config.get("model")), **self.model}
        config["limits"] = {**entries(config.get("limits")), **self.limits}
        config["approvals"] = {**entries(config.get("approvals")), **self.approvals}
        return {**documents, "config": config}


def _walls(context: click.Context, _: object, name: str | None) -> Tier | None:
    found: Tier | None = context.params.get("walls")
    if name and found is not None:
        raise click.UsageError("--sandbox and --i-accept-no-sandbox can't go together")
    return found if name is None else Tier[name.upper()]


def _no_walls(context: click.Context, _: object, accepted: bool) -> None:
    if accepted:
        if context.params.get("walls"):
            raise click.UsageError("--sandbox and --i-accept-no-sandbox can't go together")
        context.params["walls"] = Tier.NONE


_SANDBOX = (
    click.option("--sandbox", "walls", type=click.Choice(["bubblewrap", "landlock", "external"]),
                 callback=_walls, help="Which sandbox commands get; the best there is by default. "
                 "external: this is a container or virtual machine made for it."),
    click.option("--i-accept-no-sandbox", is_flag=True, callback=_no_walls, expose_value=False,
                 help="Run commands with your own rights and your network."),
)


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a model, as its argument `changes`."""
    return _collected(command, (
        click.option("--adapter", type=click.Choice(sorted(ADAPTERS)), help="The model interface."),
        click.option("--model", metavar="NAME", help="The model."),
        click.option("--base-url", metavar="URL", help="A server that speaks the same API."),
        click.option("--cassette", type=click.Path(dir_okay=False, path_type=Path),
                     help="For the scripted adapter: its JSONL file of replies."),
    ))


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what drives a run: `changes` of model and limits, and how to show it."""
    options = (
        click.option("--steps", type=click.IntRange(1),
                     help="Stop after so many steps of this call."),
        click.option("--max-steps", type=click.IntRange(1), help="The run's limit of steps."),
        click.option("--max-time", type=click.IntRange(1), metavar="SECONDS",
                     help="The run's limit of time."),
        click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD",
                     help="The run's limit of money, as far as backends name a price."),
        click.option("--on-approval", type=click.Choice(["park", "wait", "continue"]),
                     help="What to do while you are to answer: end, stay, or do other work."),
        *_SANDBOX,
        click.option("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                     help="Write the replies as a cassette."),
        click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout."),
        click.option("-q", "--quiet", is_flag=True, help="Only the last line."),
    )
    return _with(options, model_options(command))


def sandbox_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that runs commands the choice of a sandbox, as its argument `walls`."""
    return _with(_SANDBOX, command)


def _collected(command: Callable[..., None], options: tuple[Any, ...]) -> Callable[..., None]:
    @wraps(command)
    def collecting(*args: object, **given: object) -> None:
        model = {name: given.pop(name, None) for name in _MODEL}
        limits = {key: given.pop(name, None) for name, key in _LIMITS.items()}
        if isinstance(model["cassette"], Path):
            model["cassette"] = str(model["cassette"].absolute())
        approvals = {"mode": given.pop("on_approval", None)}
        command(*args, changes=Changes(_present(model), _present(limits), _present(approvals)),
                **given)

    return _with(options, collecting)


def _with(options: tuple[Any, ...], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(options):
        command = option(command)
    return command


def _present(values: dict[str, Any]) -> JsonObject:  # Any: click has checked the types
    return {key: value for key, value in values.items() if value is not None}
