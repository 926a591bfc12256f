"""`oneshot plan`: what would the first step be?"""

import shutil
from pathlib import Path

import click

from controller.cli.place import Place, new_launch, open_place, with_model
from controller.cli.show import document, line, mark, talk
from controller.cli.wiring import ADAPTERS, build, build_model
from controller.core.canonical import JsonObject
from controller.core.head import Head
from controller.core.records import Call
from controller.core.verdict import Decision, Verdict, worst
from controller.launch import launch as open_run
from controller.loop import plan as consider
from controller.project import of_documents, read_project
from controller.settings import from_environment
from controller.store.effects import call_json, verdicts_json


@click.command()
@click.option("--adapter", type=click.Choice(sorted(ADAPTERS)), help="The model interface.")
@click.option("--model", metavar="NAME", help="The model.")
@click.option("--base-url", metavar="URL", help="A server that speaks the same API.")
@click.option("--cassette", type=click.Path(dir_okay=False), help="For the scripted adapter.")
@click.option("--prompt", "only_prompt", is_flag=True, help="Print the prompt; ask no model.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def plan(folder: Path, adapter: str | None, model: str | None, base_url: str | None,
         cassette: str | None, only_prompt: bool, as_json: bool) -> None:
    """Make one proposal for a new run and show every gate's verdict. Nothing is done.

    The criteria are checked once on the base, and the model is asked once.
    """
    place = open_place(folder, from_environment(), make=True)
    project = read_project(place.root)
    fixed = new_launch(place, project)
    documents = with_model(fixed.documents, {
        "adapter": "scripted" if only_prompt else adapter, "model": model, "base_url": base_url,
        "cassette": "none" if only_prompt else cassette})
    config = of_documents(documents).config
    try:
        asked = build_model(place, config.model, fixed.run, place.root)
        ctl = build(place, fixed, asked, keep=False)
        head = open_run(ctl, config.test_command)
        if only_prompt:
            from controller.core.prompt import render

            click.echo(render(ctl.rules, head).text)
            return
        _show(head, *consider(ctl, head), as_json)
    finally:
        _forget(place, fixed.run)


def _show(head: Head, call: Call, verdicts: tuple[Verdict, ...], as_json: bool) -> None:
    decision = worst(verdicts)
    text = call.reply.body.decode("utf-8", "replace")
    if as_json:
        found: JsonObject = {
            "schema": "oneshot/plan@1", "version": head.version, "reply": text,
            "decision": decision.name.lower(), "verdicts": verdicts_json(verdicts),
            "call": call_json(call)}
        document(found)
        return
    line(text)
    for verdict in verdicts:
        line(f"{mark(verdict.decision is Decision.ALLOW)} {verdict}")
    talk(f"the gates say: {decision.name.lower()}; nothing was done. `oneshot run` starts a run")


def _forget(place: Place, run: str) -> None:
    """A plan leaves nothing behind."""
    shutil.rmtree(place.runs / run, ignore_errors=True)
    shutil.rmtree(place.settings.cache / run, ignore_errors=True)
