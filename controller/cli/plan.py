"""`oneshot plan`: what would the first step be?"""

import json
from dataclasses import replace
from pathlib import Path

import click

from controller.cli.changes import Changes, model_options, sandbox_options
from controller.cli.confine import ready
from controller.cli.house import House
from controller.cli.place import Place, new_launch, open_place
from controller.cli.show import document, line, mark, talk
from controller.cli.travel import NOBODY
from controller.cli.wiring import build, build_models
from controller.core.approval import Seal
from controller.core.canonical import JsonObject, entries
from controller.core.head import Head, Launch
from controller.core.prompt import render
from controller.core.records import Call, Prompt
from controller.core.tier import Tier
from controller.core.verdict import Decision, Verdict, worst
from controller.documents import of_documents
from controller.folders import remove
from controller.launch import launch, plan
from controller.processes import alive
from controller.project import read_project
from controller.settings import from_environment
from controller.store.effects import call_json, verdicts_json
from controller.store.journal import Journal
from controller.store.memory import MemoryTables


@click.command("plan")
@sandbox_options
@model_options
@click.option("--prompt", "only_prompt", is_flag=True, help="Print the prompt; ask no model.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, changes: Changes, walls: Tier | None, only_prompt: bool,
            as_json: bool) -> None:
    """Make one proposal for a new run and show every gate's verdict. Nothing is done.

    The criteria are checked once on the base, and the model is asked once.
    """
    place = open_place(folder, from_environment(), make=True)
    project = read_project(place.root)
    fixed = new_launch(place, replace(project, documents=changes.laid_over(project.documents)))
    config = of_documents(fixed.documents).config
    asked = NOBODY if only_prompt else build_models(place, fixed, config)
    try:
        sandbox = ready(House(place, fixed), fixed, walls, lambda _: None, silent=as_json)
        ctl = build(place, fixed, asked, Journal(MemoryTables(), alive, Seal(b"")), sandbox)
        head = launch(ctl, config.test_command)
        if only_prompt:
            _show_prompt(render(ctl.rules, head), as_json)
            return
        _show(head, *plan(ctl, head), as_json)
    finally:
        _forget(place, fixed)


def _show_prompt(prompt: Prompt, as_json: bool) -> None:
    if as_json:
        document({"schema": "oneshot/prompt@1", "version": prompt.version, "text": prompt.text})
    else:
        click.echo(prompt.text)


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
    for id, item in entries(head.state["criteria"]).items():
        line(f"criterion {id}: {entries(item)['finding']} on the base")
    line(_readable(text))
    if not {verdict.gate for verdict in verdicts} & {"envelope", "schema", "patch"}:
        line(f"{mark(True)} envelope, schema, patch: allow")
    for verdict in verdicts:
        line(f"{mark(verdict.decision is Decision.ALLOW)} {verdict}")
    talk(f"the gates say: {decision.name.lower()}; nothing was done. `oneshot run` starts a run")


def _forget(place: Place, fixed: Launch) -> None:
    """A plan leaves nothing behind."""
    remove(place.runs / fixed.run)
    remove(place.cache(fixed))


def _readable(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
