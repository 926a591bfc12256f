"""The report page of a run: one HTML file without scripts or requests, made from the record."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from controller.core.action import identity
from controller.core.canonical import JsonObject, JsonValue, entries, members
from controller.core.head import Head, RunId, Stop
from controller.core.observation import bounded, first_line
from controller.core.parse import parse
from controller.core.redact import printable
from controller.core.tier import Tier
from controller.report.narrator import drifted_from, objections, sentence
from controller.store.queries import Queries

_STEP = 6000  # bytes of an observation that the page shows
_BARS = 400  # steps that the chart draws at the most


@dataclass(frozen=True, slots=True)
class Bar:
    """One step in the chart: its number, how it ended, and how high it stands (0 to 100)."""

    step: int
    kind: str
    bytes: int
    height: float


def write_report(queries: Queries, run: RunId, folder: Path) -> Path:
    """Write `report.html` into `folder` and return its path."""
    place = folder / "report.html"
    folder.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(".tmp")
    beside.write_text(render_report(queries, run), encoding="utf-8", errors="replace")
    beside.replace(place)
    return place


def render_report(queries: Queries, run: RunId) -> str:
    """The page as text. Everything from the run is escaped and stripped of control characters."""
    from jinja2 import Environment, StrictUndefined

    source = files("controller.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True)
    records, head = list(queries.audit(run)), queries.head(run)
    steps = [record for record in records if record["kind"] in ("committed", "refused", "parked")]
    return printable(environment.from_string(source).render(
        launch=queries.launch(run), head=head, ending=_ending(head),
        chain=queries.broken_link(run), criteria=_criteria(head),
        evidence=_last_evidence(steps), waiting=queries.questions(run),
        answers=[{**r, "at": _minute(r)} for r in records
                 if r["kind"] in ("approved", "declined", "said")],
        models=[{"at": _minute(r), "told": sentence(r)} for r in records
                if r["kind"] in ("unanswered", "switched", "lost")],
        tiers=_tiers(steps), steps=list(_steps(steps)), bars=_bars(steps), drifts=_drifts(steps),
        refusals=sum(record["kind"] == "refused" for record in steps)))


def _ending(head: Head) -> str:
    if head.stopped is None:
        return "not finished"
    return {Stop.FINISHED: "proved done", Stop.WAITING: "waits for a person",
            Stop.LIMIT: "out of budget", Stop.STUCK: "stuck", Stop.ABORTED: "ended by a person",
            Stop.MOVED: "goes on elsewhere"}[head.stopped.why]


def _tiers(steps: list[JsonObject]) -> str:
    """The sandbox tiers that the run's commands have had, in words."""
    found = {tier for record in steps
             for item in (entries(record.get("outcome")), *map(entries, members(
                 record.get("evidence")))) if isinstance(tier := item.get("tier"), int)}
    return ", ".join(f"tier {tier}, {Tier(tier).word}" for tier in sorted(found))


def _criteria(head: Head) -> dict[str, JsonObject]:
    return {id: entries(item) for id, item in entries(head.state.get("criteria")).items()}


def _last_evidence(steps: list[JsonObject]) -> dict[str, JsonObject]:
    """The latest evidence for each criterion, with the step that it came from."""
    found: dict[str, JsonObject] = {}
    for record in steps:
        for item in map(entries, members(record.get("evidence"))):
            found[str(item["subject"])] = {**item, "step": record.get("step")}
    return found


def _steps(steps: list[JsonObject]) -> Iterator[JsonObject]:
    for record in steps:
        action, outcome = entries(record.get("action")), entries(record.get("outcome"))
        found: list[JsonValue] = [*objections(record)]
        yield {
            "number": record["step"], "version": record["version"], "bytes": _size(record),
            "kind": "failed" if outcome.get("status") == "failed" else record["kind"],
            "at": _minute(record), "objections": found,
            "action": identity(parse(action)) if action else first_line(str(found[0])),
            "result": outcome.get("summary") or "",
            "patch": _pretty(record.get("patch")), "document": _pretty(action),
            "observation": bounded(str(record.get("observation") or ""), _STEP),
        }


def _minute(record: JsonObject) -> str:
    return str(record["at"])[:16].replace("T", " ") + " UTC"


def _bars(steps: list[JsonObject]) -> list[Bar]:
    """The prompt sizes, each in its share of the highest; of many steps, every n-th."""
    shown = steps[::max(1, -(-len(steps) // _BARS))]
    highest = max(map(_size, shown), default=1) or 1
    return [Bar(int(str(record["step"])), str(record["kind"]), _size(record),
                100 * _size(record) / highest) for record in shown]


def _size(record: JsonObject) -> int:
    size = entries(record.get("call")).get("prompt_bytes")
    return size if isinstance(size, int) else 0


def _drifts(steps: list[JsonObject]) -> list[JsonValue]:
    """The steps before which somebody else changed the worktree."""
    return [after["step"] for before, after in pairwise(steps)
            if drifted_from(str(entries(before.get("outcome")).get("tree") or ""), after)]


def _pretty(value: JsonValue) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
