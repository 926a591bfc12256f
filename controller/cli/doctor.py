"""`oneshot doctor`: what this machine offers and lacks."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from controller.cli.interfaces import interfaces, version_of
from controller.cli.overhead import remember_overhead
from controller.cli.show import document, line, mark
from controller.cli.wiring import measured, tried, usable
from controller.core.config import ModelConfig
from controller.core.errors import ControllerError
from controller.core.miss import described
from controller.core.records import Reply
from controller.settings import KEYS, Settings, from_environment

_SPACE = 1024**3  # bytes


@dataclass(frozen=True, slots=True)
class Look:
    """One thing looked at. `good` None: optional and not there."""

    name: str
    good: bool | None
    summary: str
    remedy: str = ""


@click.command("doctor")
@click.option("--models", is_flag=True, help="Measure what each model interface sends beside our "
              "prompt, and what of yours comes with it. Nobody is asked.")
@click.option("--call", is_flag=True, help="Ask the models of config.yaml for a tiny answer. That "
              "may cost a little.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, models: bool, call: bool, as_json: bool) -> None:
    """Look at git, the models, keys, disk and the contract. No model is asked without --call."""
    settings = from_environment()
    looks = [*_look(folder, settings), *(_measured(settings) if models else ()),
             *(_called(folder, settings) if call else ())]
    bad = [look for look in looks if look.good is False]
    if as_json:
        document({"schema": "oneshot/doctor@1", "overall": "fail" if bad else "ok", "checks": {
            f.name: {"status": {True: "ok", False: "fail", None: "absent"}[f.good],
                     "summary": f.summary, "remediation": f.remedy} for f in looks}})
    else:
        for look in looks:
            remedy = f"; {look.remedy}" if look.remedy and look.good is not True else ""
            line(f"{mark(look.good)} {look.name}: {look.summary}{remedy}")
    click.get_current_context().exit(1 if bad else 0)


def _look(folder: Path, settings: Settings) -> Iterator[Look]:
    yield Look("python", sys.version_info >= (3, 11), sys.version.split()[0])
    yield _git(settings)
    found = list(interfaces(settings))
    for one in found:
        if one.program:
            known = f" (measured with {one.known})" if one.known not in one.version else ""
            yield Look(one.program, True if one.version else None,
                       f"{one.version}{known}; {one.by}" if one.version else "is not on PATH",
                       f"install {one.program}")
    held = [name for name in KEYS if name in settings.keys]
    yield Look("keys", True if held else None, ", ".join(held) or "none is set",
                  "a CLI with a login needs none")
    there = [one.name for one in found if one.usable] or _configured(folder, settings)
    yield Look("model", bool(there), ", ".join(there) or "none can be reached",
                  "install claude, codex or pi and log in, or set a key")
    yield _space(settings.cache)
    yield _sandbox(settings.cache)
    yield _contract(folder)


def _configured(folder: Path, settings: Settings) -> list[str]:
    """The models of the configuration that could be asked: some need no key and no program."""
    from controller.project import unchecked_project
    from controller.settings import checkout_root

    try:
        root = checkout_root(folder.absolute())
        models = unchecked_project(root).config.models
    except ControllerError:
        return []
    return [f"{name} ({config.adapter})" for name, config in models.items()
            if usable(settings, config, root)]


def _git(settings: Settings) -> Look:
    found = version_of(settings, "git")
    return Look("git", bool(found), found or "is not on PATH", "install git")


_TRIED = {"claude_cli": None, "codex_cli": "gpt-5.1", "pi_cli": "anthropic/claude-sonnet-5",
          "anthropic_api": "claude-sonnet-5", "openai_api": "gpt-5.1"}
"""Adapter -> the model that it is measured with; it reaches nobody."""


def _measured(settings: Settings) -> Iterator[Look]:
    """What each interface sends, pointed at a server of ours."""
    for one in interfaces(settings):
        if one.name not in _TRIED or (one.program and not one.version):
            continue
        login = one.name == "claude_cli" and "login" in one.by and "key" not in one.by
        with tempfile.TemporaryDirectory(prefix="oneshot-measure-") as folder:
            found = measured(settings, ModelConfig(
                one.name, _TRIED[one.name], first_timeout=60, total_timeout=60), Path(folder),
                login=login)
        if found.added is None:
            yield Look(f"{one.name} sends", False, f"nothing: {found.words[:200]}")
            continue
        remember_overhead(settings, one.name, found.added)
        yield Look(f"{one.name} sends", not found.leaks and found.requests <= _ASKED,
                   f"{found.added:,} bytes beside our prompt and the answer's schema; "
                   + ("; ".join(found.leaks) or "nothing of yours comes with it"),
                   "say so to the makers of oneshot")


_ASKED = 2  # requests of one call; Claude asks again when it can't find a model


def _called(folder: Path, settings: Settings) -> Iterator[Look]:
    """What the models of the configuration say to a tiny prompt."""
    from controller.project import unchecked_project
    from controller.settings import checkout_root

    root = checkout_root(folder.absolute())
    config = unchecked_project(root).config
    for name in config.routing.order:
        with tempfile.TemporaryDirectory(prefix="oneshot-call-") as place:
            try:
                said, seconds = tried(settings, config.models[name], Path(place), root)
            except ControllerError as fault:
                yield Look(f"{name} answers", False, str(fault))
                continue
        good = isinstance(said, Reply)
        words = (f"{config.models[name].adapter}: {seconds:.1f} s, {said.usage.input} tokens in, "
                 f"{said.usage.output} out")
        yield Look(f"{name} answers", good, words if isinstance(said, Reply) else
                   f"{described(said.why)}: {said.words[:200]}", "`oneshot models`")


def _space(cache: Path) -> Look:
    there = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    return Look("disk", free > _SPACE, f"{free / _SPACE:.1f} GiB free at {there}",
                   "worktrees live there; make room or set XDG_CACHE_HOME")


def _sandbox(cache: Path) -> Look:
    """The best sandbox that can be built here, tried."""
    from controller.core.tier import Tier
    from controller.sandbox.choice import choose
    from controller.sandbox.profile import Bounds

    try:
        found = choose(cache / f"trial-{os.getpid()}", None, Bounds())
    except ControllerError as fault:
        return Look("sandbox", False, str(fault))
    who = f", as user {found.user}" if found.user is not None else ""
    note = f" ({found.note})" if found.note else ""
    return Look("sandbox", found.tier is Tier.BUBBLEWRAP or None,
                f"tier {found.tier}, {found.word}{who}{note}", "apt install bubblewrap")


def _contract(folder: Path) -> Look:
    from controller.project import FOLDER, read_project
    from controller.settings import checkout_root

    try:
        root = checkout_root(folder.absolute())
        if not (root / FOLDER).exists():
            return Look("contract", None, "there is none here", "run `oneshot init`")
        read_project(root)
    except ControllerError as fault:
        return Look("contract", False, str(fault).split("\n", 1)[0])
    return Look("contract", True, "is valid")
