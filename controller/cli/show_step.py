"""`oneshot show`: one step, whole, or one piece of evidence."""

from pathlib import Path

import click

from controller.cli.place import Place, open_place
from controller.cli.show import document, line
from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.errors import SetupError
from controller.core.evidence import PREFIX
from controller.core.head import RunId
from controller.report.narrator import sentence
from controller.settings import from_environment


@click.command("show")
@click.argument("step", metavar="STEP|EVIDENCE")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--prompt", "part", flag_value="prompt", help="The exact bytes that were sent.")
@click.option("--reply", "part", flag_value="reply", help="The exact bytes that came back.")
@click.option("--observation", "part", flag_value="observation", help="What the next step saw.")
@click.option("--patch", "part", flag_value="patch", help="The state patch.")
@click.option("--action", "part", flag_value="action", help="The action.")
@click.option("--gates", "part", flag_value="gates", help="What the gates objected.")
@click.option("--evidence", "part", flag_value="evidence", help="What the authorities said.")
@click.option("--output", "part", flag_value="output", help="The whole output of the command.")
@click.option("--results", "part", flag_value="results", help="Of evidence: how each test ended.")
@click.option("--json", "as_json", is_flag=True, help="The audit record as one JSON document.")
@click.pass_obj
def command(folder: Path, step: str, name: str | None, part: str | None, as_json: bool) -> None:
    """Show step STEP of a run (the last one by default), or one part of it; or a piece of evidence
    by its id (ev_…), with everything that it was got under.
    """
    place = open_place(folder, from_environment())
    if step.startswith(PREFIX):
        _evidence(place, step, part)
        return
    if not step.isdecimal():
        raise click.UsageError(f"expected the number of a step, or ev_… of evidence; got {step!r}")
    run = place.run(name)
    record = _record(place, run, int(step))
    if as_json:
        document(record)
    elif part:
        click.echo(_part(place, record, part), nl=False)
    else:
        _whole(place, record)


_SHORTEST = len(PREFIX) + 4


def _evidence(place: Place, id: str, part: str | None) -> None:
    """A piece of evidence, as the audit trail has it: anybody can print what looks like one."""
    found = place.queries.evidence_called(id)
    if found is None or len(id) < _SHORTEST:
        raise SetupError(f"there is no evidence {id}; `oneshot why` lists what there is")
    measured = entries(found.get("measured"))
    match part:
        case None:
            document(found)
        case "output" | "results":
            digest = found["artifact"] if part == "output" else measured.get("results")
            if not digest:
                raise SetupError(f"{found['id']} has no {part} that were kept")
            click.echo(_kept(place, digest), nl=part == "results")
        case _:
            raise click.UsageError(f"evidence has no {part}; ask for --output or --results")


def _record(place: Place, run: RunId, step: int) -> JsonObject:
    kinds = ("created",) if step == 0 else ("committed", "refused", "parked", "unknown")
    found = [record for record in place.queries.audit(run)
             if record.get("step", 0) == step and record["kind"] in kinds]
    asked = [record for record in found if record.get("call") or step == 0]
    if asked:
        return asked[-1]  # a parked step that a person allowed has two: what came of it counts
    steps = place.queries.head(run).spent.steps
    raise SetupError(f"run {run} has no step {step}; it has steps 1 to {steps}")


def _whole(place: Place, record: JsonObject) -> None:
    line(sentence(record))
    for part in ("action", "patch", "gates", "evidence", "observation"):
        text = _part(place, record, part)
        if text.strip():
            line(f"\n## {part}\n{text.rstrip()}")


def _part(place: Place, record: JsonObject, part: str) -> str:
    sent, done = entries(record.get("call")), entries(record.get("outcome"))
    match part:
        case "prompt":
            return _kept(place, sent.get("stable")) + _kept(place, sent.get("volatile"))
        case "reply":
            return _kept(place, sent.get("reply"))
        case "output":
            return _kept(place, done.get("artifact"))
        case "gates":
            return _json(record.get("verdicts"))
        case "observation":
            return str(record.get("observation") or "") + "\n"
        case _:
            return _json(record.get(part))


def _kept(place: Place, digest: JsonValue) -> str:
    data = place.queries.artifact(digest) if isinstance(digest, str) else None
    return (data or b"").decode("utf-8", "replace")


def _json(value: JsonValue) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n" if value else ""
