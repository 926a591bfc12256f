"""`oneshot cost`: what a run has sent and spent."""

from pathlib import Path

import click

from controller.cli.overhead import known_overhead
from controller.cli.place import Place, open_place
from controller.cli.show import document, line, table
from controller.core.canonical import JsonObject, JsonValue
from controller.core.head import RunId, Spent
from controller.core.prices import as_of
from controller.core.spending import Spending, Total, total
from controller.documents import of_documents
from controller.settings import from_environment


@click.command("cost")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--steps", is_flag=True, help="A line for each call.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, name: str | None, steps: bool, as_json: bool) -> None:
    """Show what a run (the last one by default) has sent and spent.

    Our bytes and what the model interface adds are told apart; tokens are the backend's own.
    """
    place = open_place(folder, from_environment())
    run = place.run(name)
    found = total(place.queries.audit(run))
    if as_json:
        document(_document(place, run, found))
        return
    if steps:
        table([("step", "model", "our bytes", "uncached", "cached", "output", "usd"),
               *(_row(call) for call in found.calls)])
        line()
    for text in _lines(place, run, found):
        line(text)


def _row(call: Spending) -> tuple[str, ...]:
    return (f"{call.step}" + ("" if call.answered else " ✗"), call.model, f"{call.sent:,}",
            *(_or_unknown(number) for number in (call.uncached, call.cached, call.output)),
            "unknown" if call.usd is None else f"${call.usd:.4f}")


def _lines(place: Place, run: RunId, found: Total) -> list[str]:
    spent = place.queries.head(run).spent
    calls = len(found.calls)
    told = [
        f"{spent.steps} calls answered, {spent.misses} without a reply",
        f"our prompts: {found.sent:,} bytes, {found.sent // max(1, calls):,} a call",
        *(f"beside them, {words}" for words in _added(place, run)),
        f"tokens, as the backend counts them or, where it did not, at the worst: "
        f"{spent.input:,} uncached, "
        f"{spent.cache_read:,} read from a cache, {spent.cache_write:,} written to one, "
        f"{spent.output:,} out",
        f"money: {_money(spent)} (by the backend, or list prices of {as_of()})"]
    if spent.lost:
        told.append(f"{spent.lost} calls were lost in a crash: counted at their worst")
    if found.replay is not None:
        told.append(f"estimate, before caching: replaying the history instead would have taken "
                    f"{found.replay:,} tokens of prompts, against {found.billed:,}")
    return told


def _money(spent: Spent) -> str:
    """What is known of the money; unknown is not 0."""
    if spent.unpriced and not spent.usd:
        return "unknown"
    more = f", and {spent.unpriced} calls whose price nobody knows" if spent.unpriced else ""
    return f"${spent.usd:.4f}{more}"


def _added(place: Place, run: RunId) -> list[str]:
    """What each model interface of a run adds, as it was measured here."""
    models = of_documents(place.launch(run).documents).config.models
    found = {f"{name} ({one.adapter})": known_overhead(place.settings, one)
             for name, one in models.items() if one.adapter != "scripted"}
    return [f"{name} adds " + (
        "an unknown number of bytes: oneshot doctor --models" if number is None else
        f"{number:,} bytes a call beside the schema (oneshot doctor --models)")
        for name, number in found.items()]


def _document(place: Place, run: RunId, found: Total) -> JsonObject:
    spent = place.queries.head(run).spent
    calls: list[JsonValue] = [{
        "step": call.step, "model": call.model, "sent_bytes": call.sent, "uncached": call.uncached,
        "cached": call.cached, "output": call.output, "usd": call.usd, "answered": call.answered}
        for call in found.calls]
    config = of_documents(place.launch(run).documents).config
    return {"schema": "oneshot/cost@1", "run": run, "calls": calls, "sent_bytes": found.sent,
            "overhead_bytes": {name: known_overhead(place.settings, one)
                               for name, one in config.models.items()},
            "tokens": {"uncached": spent.input, "cache_read": spent.cache_read,
                       "cache_write": spent.cache_write, "output": spent.output},
            "usd": spent.usd, "unpriced": spent.unpriced, "lost": spent.lost,
            "prices_of": as_of(), "replay_estimate_tokens": found.replay}


def _or_unknown(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
