"""`runs/<id>/`: the record as files, for people and their tools; re-derivable from the store."""

import json
from dataclasses import dataclass
from pathlib import Path

from controller.core.canonical import JsonObject, canonical
from controller.core.head import RunId
from controller.locks import locked
from controller.store.queries import Queries
from controller.store.rows import head_json

_TAIL = 256 * 1024  # bytes at the end of audit.jsonl in which its last record is looked for


@dataclass(frozen=True, slots=True)
class Projections:
    """Writes `state.json`, `audit.jsonl` and `observations/` of every run below `folder`."""

    queries: Queries
    folder: Path

    def catch_up(self, run: RunId) -> None:
        """Bring a run's files up to the store, whatever a crash left of them."""
        place = self.folder / run
        (place / "observations").mkdir(parents=True, exist_ok=True)
        with locked(place / "projections.flock"):  # a frozen controller may wake up in here
            self._catch_up(run, place)

    def _catch_up(self, run: RunId, place: Path) -> None:
        self._audit(run, place)
        text = json.dumps(head_json(self.queries.head(run)), indent=2, ensure_ascii=False)
        beside = place / "state.json.tmp"
        beside.write_text(text + "\n", encoding="utf-8", errors="replace")
        beside.replace(place / "state.json")

    def _audit(self, run: RunId, place: Path) -> None:
        file = place / "audit.jsonl"
        last, size = _last_record(file)
        with file.open("ab") as audit:
            audit.truncate(size)
            for record in self.queries.audit(run, last):
                audit.write(canonical(record) + b"\n")
                _observe(place, record)


def _observe(place: Path, record: JsonObject) -> None:
    text = record.get("observation")
    if isinstance(text, str):
        number = record["number"]
        (place / f"observations/{number:04}.txt").write_text(text, "utf-8", "replace")


def _last_record(file: Path) -> tuple[int, int]:
    """The number of the last whole record in the file, and where it ends; (0, 0) for none."""
    if not file.exists():
        return 0, 0
    with file.open("rb") as audit:
        size = audit.seek(0, 2)
        start = max(0, size - _TAIL)
        audit.seek(start)
        tail = audit.read()
    end = tail.rfind(b"\n") + 1
    line = tail[:end].rstrip(b"\n").rpartition(b"\n")[2]
    try:
        return int(json.loads(line)["number"]), start + end
    except (ValueError, KeyError, TypeError):
        return 0, 0
