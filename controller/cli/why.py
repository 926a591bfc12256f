"""`oneshot why`: from a success criterion to the evidence that would prove it."""

from pathlib import Path

import click

from controller.cli.house import House
from controller.cli.place import Place, open_place
from controller.cli.show import document, line, mark
from controller.core.canonical import JsonValue
from controller.core.contract import Criterion
from controller.core.errors import SetupError
from controller.core.head import RunId
from controller.core.pointer import nearest
from controller.core.projection import branch_head
from controller.core.prompt import describe
from controller.core.proof import Proof, Standing, proofs
from controller.documents import of_documents
from controller.settings import from_environment

_MARKS = {Standing.PRESENT: True, Standing.IMPOSSIBLE: False}


@click.command("why")
@click.argument("criterion", required=False)
@click.option("--run", "name", metavar="RUN", help="Another run than the last one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, criterion: str | None, name: str | None, as_json: bool) -> None:
    """Show whether the evidence for CRITERION (for all, by default) is present, stale, missing or
    impossible, and every check of it that was made.
    """
    place = open_place(folder, from_environment())
    run = place.run(name)
    known = {item.id: item for item in of_documents(
        place.launch(run).documents).rules.contract.success_criteria}
    if criterion and criterion not in known:
        raise SetupError(f"the contract has no criterion {criterion!r}{nearest(criterion, known)}")
    found = [proof for proof in _proofs(place, run) if criterion in (None, proof.criterion)]
    if as_json:
        told: list[JsonValue] = [{
            "criterion": proof.criterion, "standing": proof.standing.value, "why": proof.why,
            "checks": list[JsonValue](place.queries.evidence(run, proof.criterion))}
            for proof in found]
        document({"schema": "oneshot/why@1", "run": run, "criteria": told})
        return
    for proof in found:
        _tell(place, run, proof, known[proof.criterion])


def _proofs(place: Place, run: RunId) -> list[Proof]:
    fixed, state = place.launch(run), place.queries.head(run).state
    repo = House(place, fixed).repo()
    tree = repo.tree_of(branch_head(state) or fixed.base)
    rules = of_documents(fixed.documents).rules
    return list(proofs(rules.contract, rules.policy, state, tree))


def _tell(place: Place, run: RunId, proof: Proof, criterion: Criterion) -> None:
    line(f"{mark(_MARKS.get(proof.standing))} {proof.criterion}: {proof}")
    line(f"    asked for: {criterion.text or 'holds'} ({criterion.governance.source})")
    line(f"    proved by: {describe(criterion.check)}")
    for check in place.queries.evidence(run, proof.criterion):
        line(f"    step {check['step']}: {check['finding']} in tree {str(check['tree'])[:12]}: "
             f"{str(check['detail']).splitlines()[0] if check['detail'] else ''}")
        line(f"        {check.get('id', '')}".rstrip())
