"""`oneshot doctor`: what this machine offers and lacks."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from controller.cli.show import document, line, mark
from controller.core.errors import ControllerError
from controller.process import capture
from controller.settings import KEYS, Settings, from_environment

_KNOWN = {"claude": "2.1.197", "codex": "0.171.0"}
"""The versions that the adapters were measured with."""

_SPACE = 1024**3  # bytes


@dataclass(frozen=True, slots=True)
class Look:
    """One thing looked at. `good` None: optional and not there."""

    name: str
    good: bool | None
    summary: str
    remedy: str = ""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, as_json: bool) -> None:
    """Look at git, the models, keys, disk and the contract. No model is asked."""
    looks = list(_look(folder, from_environment()))
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
    yield _program(settings, "git", needed=True)
    models = [_program(settings, "claude"), _program(settings, "codex")]
    yield from models
    held = [name for name in KEYS if name in settings.keys]
    yield Look("keys", True if held else None, ", ".join(held) or "none is set",
                  "a CLI with a login needs none")
    usable = any(model.good for model in models) or bool(held)
    yield Look("model", usable, "one can be reached" if usable else "none can be reached",
                  "install claude or codex, or set a key")
    yield _space(settings.cache)
    yield _sandbox(settings.cache)
    yield _contract(folder)


def _program(settings: Settings, name: str, *, needed: bool = False) -> Look:
    binary = settings.find(name)
    if not binary:
        return Look(name, False if needed else None, "is not on PATH", f"install {name}")
    try:
        said = capture([binary, "--version"], cwd=Path("/"), timeout=20,
                       env={"PATH": settings.path, "HOME": "/nonexistent"})
    except ControllerError as fault:
        return Look(name, False, str(fault), f"reinstall {name}")
    version = said.stdout.decode("utf-8", "replace").strip() or f"exit {said.exit}"
    known = _KNOWN.get(name)
    other = f" (measured with {known})" if known and known not in version else ""
    return Look(name, said.exit == 0, version + other, f"reinstall {name}")


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
