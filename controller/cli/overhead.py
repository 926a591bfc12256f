"""What each model interface adds to a prompt, as it was measured on this machine."""

import json
from pathlib import Path

from controller.core.canonical import JsonObject, entries
from controller.core.config import ModelConfig
from controller.settings import Settings


def known_overhead(settings: Settings, config: ModelConfig) -> int | None:
    """Bytes that an interface sends beside our prompt and its schema; None: nobody has looked."""
    found = _read(_place(settings)).get(config.adapter)
    return found if isinstance(found, int) else None


def remember_overhead(settings: Settings, adapter: str, added: int) -> None:
    """Keep a measurement for `oneshot cost`."""
    place = _place(settings)
    place.parent.mkdir(parents=True, exist_ok=True)
    whole: JsonObject = {**_read(place), adapter: added}
    beside = place.with_suffix(".tmp")
    beside.write_text(json.dumps(whole, indent=1), "utf-8")
    beside.replace(place)


def _place(settings: Settings) -> Path:
    return settings.state / "overhead.json"


def _read(place: Path) -> JsonObject:
    try:
        return entries(json.loads(place.read_text("utf-8")))
    except (OSError, ValueError):
        return {}
