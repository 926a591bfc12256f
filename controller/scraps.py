"""Small JSON files whose loss costs nothing but another look: read as empty then, written whole."""

import json
from pathlib import Path

from controller.core.canonical import JsonObject, entries


def read_scrap(place: Path) -> JsonObject:
    """The object in a file; empty when there is none that can be read."""
    try:
        return entries(json.loads(place.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def write_scrap(place: Path, value: JsonObject) -> None:
    """Let the file hold the object: all of it, or what it held before."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(".tmp")
    beside.write_text(json.dumps(value), "utf-8")
    beside.replace(place)
