"""`oneshot validate`: is what people wrote good?"""

from pathlib import Path

import click

from controller.cli.show import document, line
from controller.core.prompt import describe, stable
from controller.project import FOLDER, read_project
from controller.repo import open_checkout


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def validate(folder: Path, as_json: bool) -> None:
    """Check the contract, policy and config, offline. Faults come as file:line:col."""
    root = open_checkout(folder.absolute()).work_tree
    assert root is not None
    project = read_project(root)
    size = len(stable(project.rules).encode())
    criteria = project.rules.contract.success_criteria
    if as_json:
        document({"schema": "oneshot/validate@1", "valid": True, "stable_prompt_bytes": size,
                  "criteria": [criterion.id for criterion in criteria]})
        return
    line(f"{FOLDER} is valid; the fixed part of every prompt has {size} bytes")
    for criterion in criteria:
        line(f"  {criterion.id}: {describe(criterion.check)}")
