"""What the command line may change of a run's configuration: options of several commands."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any

import click

from controller.cli.place import SystemClock
from controller.cli.show import talk
from controller.core.canonical import JsonObject, entries
from controller.core.errors import EXIT_CODES, ControllerError
from controller.core.governed import seconds
from controller.core.tier import Tier

_LIMITS = {"max_steps": "steps", "max_time": "seconds", "until": "until", "max_cost": "usd",
           "max_input_tokens": "input_tokens", "max_output_tokens": "output_tokens"}
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
        for name, given in (("model", self.model), ("limits", self.limits),
                            ("approvals", self.approvals)):
            if given:
                config[name] = {**entries(config.get(name)), **given}
        return {**documents, "config": config}


@dataclass(frozen=True, slots=True)
class Way:
    """How a run is driven and shown: behind which walls (None: the best there are), for how many
    steps of this call, recorded where; `background`: in a process of its own.
    """

    walls: Tier | None
    steps: int | None
    record: Path | None
    as_json: bool
    quiet: bool
    ok_exit: frozenset[int]
    background: bool
    no_limits: bool

    def code(self, driven: Callable[[], int]) -> int:
        """The exit code that `driven` comes to, or 0 for one that counts as that; a fault that has
        such a code is told, and counts as well.
        """
        try:
            code = driven()
        except ControllerError as fault:
            if fault.exit_code not in self.ok_exit:
                raise
            talk(str(fault))
            return 0
        return 0 if code in self.ok_exit else code


_WAY = tuple(field.name for field in fields(Way))


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


class Duration(click.ParamType[int]):
    """A span of time, in seconds: `90`, `90m`, `8h`, `2d`."""

    name = "TIME"

    def convert(self, value: object, param: click.Parameter | None,
                ctx: click.Context | None) -> int:
        """Seconds."""
        found = re.fullmatch(r"([1-9][0-9]{0,6})([smhd]?)", str(value))
        if not found:
            self.fail(f"expected a time like 90m, 8h or 3600 (seconds), got {value!r}", param, ctx)
        return seconds(found[0] if found[2] else f"{found[0]}s")


class Money(click.FloatRange):
    """An amount that is a number."""

    def convert(self, value: Any, param: click.Parameter | None,  # Any: as the base has it
                ctx: click.Context | None) -> float:
        """The amount."""
        found: float = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"expected an amount of US dollars, got {value!r}", param, ctx)
        return found


class Moment(click.ParamType[str]):
    """A moment, in UTC as ISO 8601 has it: from `07:30`, or from ISO 8601 with its offset."""

    name = "TIME"

    def convert(self, value: object, param: click.Parameter | None,
                ctx: click.Context | None) -> str:
        """The moment; a time of day is the next one."""
        now = SystemClock().now().astimezone()
        try:
            if re.fullmatch(r"\d{1,2}:\d{2}", str(value)):
                hour, minute = map(int, str(value).split(":"))
                found = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
                found += timedelta(days=found <= now)
            else:
                found = datetime.fromisoformat(str(value)).astimezone()
        except ValueError:
            self.fail(f"expected a time like 07:30 or 2026-12-02T07:30+01:00, got {value!r}", param,
                      ctx)
        if found <= now:
            self.fail(f"{value} is over", param, ctx)
        return found.astimezone(UTC).isoformat()


class Codes(click.ParamType[frozenset[int]]):
    """Exit codes, as numbers with commas between."""

    name = "CODES"

    def convert(self, value: object, param: click.Parameter | None,
                ctx: click.Context | None) -> frozenset[int]:
        """The codes."""
        if isinstance(value, frozenset):
            return value
        words = [word for word in str(value).split(",") if word]
        known = [int(word) for word in words if word.isdigit() and int(word) in EXIT_CODES]
        if len(known) != len(words):
            self.fail(f"expected exit codes of oneshot like 3,8, got {value!r}", param, ctx)
        return frozenset(known)


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
        click.option("--adapter", metavar="NAME",
                     help="The model interface; `oneshot models` lists them."),
        click.option("--model", metavar="NAME", help="The model."),
        click.option("--base-url", metavar="URL", help="A server that speaks the same API."),
        click.option("--cassette", type=click.Path(dir_okay=False, path_type=Path),
                     help="For the scripted adapter: its JSONL file of replies."),
    ))


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what drives a run: `changes` of models and limits, and the `way`."""
    options = (
        click.option("--steps", type=click.IntRange(1),
                     help="Stop after so many steps of this call."),
        click.option("--max-steps", type=click.IntRange(1), help="The run's limit of steps."),
        click.option("--max-time", type=Duration(), help="The run's limit of time: 8h, 90m, or "
                     "seconds. Waits count."),
        click.option("--until", type=Moment(), help="When it is to end: 07:30, the next time it is "
                     "that late here, or 2026-12-02T07:30+01:00."),
        click.option("--max-cost", type=Money(0, min_open=True), metavar="USD",
                     help="The run's limit of money. What a call may cost at the worst is set "
                     "aside before it is made."),
        click.option("--max-input-tokens", type=click.IntRange(1), metavar="N",
                     help="The run's limit of tokens in prompts, cached ones included."),
        click.option("--max-output-tokens", type=click.IntRange(1), metavar="N",
                     help="The run's limit of tokens in answers."),
        click.option("--no-limits", is_flag=True, help="Go on without any limit."),
        click.option("--on-approval", type=click.Choice(["park", "wait", "continue"]),
                     help="What to do while you are to answer: end, stay, or do other work."),
        *_SANDBOX,
        click.option("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                     help="Write the replies as a cassette."),
        click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout."),
        click.option("-q", "--quiet", is_flag=True, help="Only the last line."),
        click.option("-d", "--background", is_flag=True,
                     help="In a process of its own, which outlives this terminal."),
        click.option("--ok-exit", type=Codes(), default="", metavar="CODES",
                     help="Exit codes that count as 0 here, for schedulers: 3,8."),
    )
    @wraps(command)
    def under_way(*args: object, **given: object) -> None:
        way: dict[str, Any] = {name: given.pop(name) for name in _WAY}  # Any: click has looked
        command(*args, way=Way(**way), **given)

    return _with(options, model_options(under_way))


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
