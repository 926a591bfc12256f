"""`oneshot validate`: is what people wrote good?"""

import re
from pathlib import Path

import click

from controller.cli.show import document, line, talk
from controller.cli.wiring import check_adapters
from controller.core.canonical import JsonObject
from controller.core.errors import SetupError
from controller.core.prompt import describe, stable
from controller.project import FOLDER, read_project
from controller.settings import checkout_root


@click.command("validate")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, as_json: bool) -> None:
    """Check the contract, policy and config, offline. Faults come as file:line:col."""
    root = checkout_root(folder.absolute())
    try:
        project = read_project(root)
        check_adapters(project.config)
    except SetupError as fault:
        if as_json:
            document({"schema": "oneshot/validate@1", "valid": False,
                      "faults": [_fault(line) for line in str(fault).splitlines()]})
        else:
            talk(str(fault))
        click.get_current_context().exit(fault.exit_code)
    size = len(stable(project.rules).encode())
    criteria = project.rules.contract.success_criteria
    if as_json:
        document({"schema": "oneshot/validate@1", "valid": True, "faults": [],
                  "stable_prompt_bytes": size,
                  "criteria": [criterion.id for criterion in criteria]})
        return
    line(f"{FOLDER} is valid; the fixed part of every prompt has {size} bytes")
    for criterion in criteria:
        line(f"  {criterion.id}: {describe(criterion.check)}")
    for name in ("skill-spec.md", "state.schema.json"):
        if not (root / FOLDER / name).exists():
            line(f"  {name}: the one that ships with oneshot")


def _fault(sentence: str) -> JsonObject:
    found = re.match(r"(.*?):(\d+):(\d+): (.*)", sentence)
    if not found:
        return {"file": None, "line": None, "column": None, "message": sentence}
    return {"file": found[1], "line": int(found[2]), "column": int(found[3]), "message": found[4]}
