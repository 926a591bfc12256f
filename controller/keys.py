"""The key that answers of people are signed with: outside every repository, read by its owner only.
"""

import os
import secrets
from pathlib import Path

from controller.core.approval import Seal
from controller.core.errors import SetupError
from controller.process import machine_fault

_BYTES = 32


def seal_of(folder: Path) -> Seal:
    """The seal of the key in a folder, which is made when there is none.

    Raises SetupError when others can read the key, or it can't be made.
    """
    place = folder / "key"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.exists():
            _make(place)
        if place.stat().st_mode & 0o077:
            raise SetupError(f"{place} can be read by others: chmod 600 it. Whoever has read it "
                             "could sign in your name; remove it to get a new one")
        key = place.read_bytes()
    except OSError as fault:
        broken = machine_fault(fault)
        raise broken or SetupError(f"{place}: the signing key can't be read or made: "
                                   f"{fault.strerror}") from fault
    if len(key) != _BYTES:
        raise SetupError(f"{place}: expected {_BYTES} bytes, got {len(key)}; remove it to get a "
                         "new one (open questions will be asked again)")
    return Seal(key)


def _make(place: Path) -> None:
    """Written beside and linked into place: two processes get one key, and none half of it."""
    beside = place.with_name(f"key.{os.getpid()}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, secrets.token_bytes(_BYTES))
        os.fsync(file)
        os.link(beside, place)
    except FileExistsError:
        pass  # somebody else was first, and his is as good
    finally:
        os.close(file)
        beside.unlink()
