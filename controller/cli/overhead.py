"""What each model interface adds to a prompt, as it was measured on this machine."""

from pathlib import Path

from controller.core.config import ModelConfig
from controller.scraps import read_scrap, write_scrap
from controller.settings import Settings


def known_overhead(settings: Settings, config: ModelConfig) -> int | None:
    """Bytes that an interface sends beside our prompt and its schema; None: nobody has looked."""
    found = read_scrap(_place(settings)).get(config.adapter)
    return found if isinstance(found, int) else None


def remember_overhead(settings: Settings, adapter: str, added: int) -> None:
    """Keep a measurement for `oneshot cost`."""
    place = _place(settings)
    write_scrap(place, {**read_scrap(place), adapter: added})


def _place(settings: Settings) -> Path:
    return settings.state / "overhead.json"
