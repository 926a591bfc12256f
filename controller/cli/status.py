"""`oneshot status`: one screen, and what to type next."""

from pathlib import Path

import click

from controller.cli.place import Place, open_place
from controller.cli.show import document, exit_code, line, mark, next_commands, table
from controller.core.canonical import JsonObject, JsonValue, entries
from controller.core.errors import Damaged, ModelUnavailable, ModelUnusable
from controller.core.head import Head, RunId, Spent, Stop, Wish
from controller.core.observation import one_line
from controller.core.routing import Choice, Nobody, Rest, choose
from controller.processes import alive
from controller.settings import from_environment

_PAUSED = "paused by you"


@click.command("status")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Every run, a line each.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def command(folder: Path, name: str | None, every: bool, as_json: bool) -> None:
    """Show where a run (the last one by default) stands."""
    place = open_place(folder, from_environment())
    if every:
        _every(place, as_json)
    elif as_json:
        document(status_document(place, place.run(name)))
    else:
        _show(place, place.run(name))


def status_document(place: Place, run: RunId) -> JsonObject:
    """Where a run stands, as JSON (schema oneshot/status@1)."""
    head = place.queries.head(run)
    return {
        "schema": "oneshot/status@1", "run": run, "phase": _phase(place, head),
        "exit_code": code_of(place, head), "goal": place.queries.launch(run).goal,
        "step": head.spent.steps, "state_version": head.version,
        "reason": head.stopped.reason if head.stopped else _waits_for_model(place, head) or None,
        "git": head.state.get("source_authority"), "worktree": str(place.worktree(run)),
        "criteria": head.state.get("criteria"),
        "waiting": [_waiting(item) for item in place.queries.questions(run)],
        "usage": {"tokens": head.spent.tokens, "input_tokens": head.spent.taken,
                  "output_tokens": head.spent.output, "cost_usd": head.spent.usd,
                  "calls_without_price": head.spent.unpriced,
                  "calls_without_reply": head.spent.misses},
        "asking": {"model": head.asking.model or None, "waits": _waits_for_model(place, head)},
        "next": list(next_steps(place, head)),
    }


def _show(place: Place, run: RunId) -> None:
    head = place.queries.head(run)
    line(f"run {run}: {place.queries.launch(run).goal}")
    line(f"  {_phase(place, head)}"
         + (f": {one_line(head.stopped.reason)}" if head.stopped else "")
         + f" (step {head.spent.steps}, version {head.version})")
    if place.queries.effect(run) and not at_work(place, run):
        line("  one action is open: whether it was done is not known. The state is intact.")
    table([("  " + mark({"verified": True, "failing": False}.get(str(item.get("finding")))), id,
            f"{item['finding']} {_when(item)}") for id, item in _criteria(head)])
    if waits := _waits_for_model(place, head):
        line(f"  {waits}")
    for item in place.queries.questions(run):
        line(f"  waits for you: {item['id']} {item['kind']}: {one_line(str(item['summary']))}")
    line(f"  {_spent(head.spent)}")
    if head.stopped is None or head.stopped.why in (Stop.WAITING, Stop.LIMIT, Stop.STUCK):
        line(f"  worktree: {place.worktree(run)}")
    next_commands(*next_steps(place, head))


def _waits_for_model(place: Place, head: Head) -> str:
    """Until when no model is asked, and why; empty: one can be."""
    match _choice(place, head):
        case Rest(until, why):
            return f"waits for a model until {until:%Y-%m-%d %H:%M:%S %Z}: {one_line(why)}"
        case Nobody(why):
            return f"no model can be asked: {one_line(why)}"
        case _:
            return ""


def code_of(place: Place, head: Head) -> int:
    """The exit code that a run means, as it stands."""
    choice = _choice(place, head)
    if isinstance(choice, Nobody):
        return ModelUnavailable.exit_code if choice.temporary else ModelUnusable.exit_code
    return exit_code(head)


def _choice(place: Place, head: Head) -> Choice | None:
    """Who would be asked now, of a run that may go on and has had trouble with its models."""
    if head.stopped or not (head.asking.until or head.asking.aside or head.asking.since):
        return None
    from controller.documents import of_documents

    return choose(head, of_documents(place.launch(head.run).documents).rules, place.clock.now())


def _spent(spent: Spent) -> str:
    tokens = f"{spent.tokens} tokens" if spent.tokens else "tokens unknown"
    if spent.unpriced == spent.steps:
        return f"{tokens}, price unknown"
    rest = f", and {spent.unpriced} calls without a price" if spent.unpriced else ""
    return f"{tokens}, ${spent.usd:.2f}{rest}"


def _when(item: JsonObject) -> str:
    if item["step"]:
        return f"in step {item['step']}"
    vacuous = item["finding"] == "verified"
    return "at the start" + (", so by itself it proves nothing" if vacuous else "")


def _criteria(head: Head) -> list[tuple[str, JsonObject]]:
    return [(id, entries(item)) for id, item in entries(head.state.get("criteria")).items()]


def _phase(place: Place, head: Head) -> str:
    if head.stopped:
        return head.stopped.why.value
    if at_work(place, head.run):
        row = place.tables.run(head.run)
        return _PAUSED if row and row.wish == Wish.PAUSE.value else "running"
    if place.queries.effect(head.run) is None:
        return "paused"
    return "stopped without saying so" if place.queries.holder(head.run) else "interrupted"


def at_work(place: Place, run: RunId) -> bool:
    """Whether a controller is at work: one that stands still does not renew its lease."""
    holder, until = place.queries.holder(run), place.queries.held_until(run)
    return (holder is not None and until is not None and place.clock.now() < until
            and alive(holder) is not False)


def next_steps(place: Place, head: Head) -> tuple[str, ...]:
    """What a person may type next, with the run named where it must be."""
    name = place.named(head.run)
    if head.stopped is None:
        return _going(place, head, name)
    match head.stopped.why:
        case Stop.FINISHED:
            return (f"git log -p oneshot/{head.run}", f"oneshot report{name}")
        case Stop.WAITING:
            return tuple(answer for item in place.queries.questions(head.run)
                         for answer in _answers(place, head, item))
        case Stop.LIMIT:
            return (_more(head.stopped.reason, name, place.named(head.run, "--run")),
                    f"oneshot log{name}")
        case Stop.STUCK:
            return (f"oneshot log{name}", f"oneshot resume{name}")
        case Stop.ABORTED | Stop.MOVED as why:
            back = "rollback --to" if why is Stop.ABORTED else "fork --from"
            return (f"oneshot log{name}", f"oneshot {back} STEP{name}")


def _answers(place: Place, head: Head, item: JsonObject) -> tuple[str, ...]:
    option = place.named(head.run, "--run")
    if item["kind"] == "question":
        return (f'oneshot answer {item["id"]}{option} "…"',)
    if item["kind"] == "unknown":
        return tuple(f"oneshot decide {item['id']} {answer}{option}"
                     for answer in ("happened", "did-not"))
    return (f"oneshot approvals {item['id']}{option}",
            f"oneshot approve {item['id']}{option}",
            f"oneshot deny {item['id']}{option} --reason …")


def _going(place: Place, head: Head, name: str) -> tuple[str, ...]:
    log = (f"oneshot log{name}",)
    if _phase(place, head) == _PAUSED:
        return (f"oneshot resume{name}", f"oneshot stop{name}", *log)
    return log if at_work(place, head.run) else (f"oneshot resume{name}", *log)


def _more(reason: str, name: str, option: str) -> str:
    """What lifts the limit that a reason names."""
    if reason.startswith("constraint-"):
        return f"oneshot intent amend {reason.partition(':')[0]}{option} --limit …"
    found = next((flag for words, flag in _FLAGS if words in reason), "--max-time 8h")
    return f"oneshot resume{name} {found}"


_FLAGS = (("$", "--max-cost USD"), ("input tokens", "--max-input-tokens N"),
          ("output tokens", "--max-output-tokens N"), (" steps", "--max-steps N"),
          ("it is ", "--until 07:30"))
"""What the reason of a limit has in it -> the flag that sets another one."""


def _waiting(item: JsonObject) -> JsonValue:
    return {"id": item["id"], "kind": item["kind"], "summary": item["summary"]}


def _every(place: Place, as_json: bool) -> None:
    """One damaged run is told of, and hides no other."""
    if as_json:
        document({"schema": "oneshot/runs@1",
                  "runs": [_or_damage(place, run) for run in place.queries.runs()]})
        return
    table([_line(place, run) for run in place.queries.runs()])


def _or_damage(place: Place, run: RunId) -> JsonObject:
    try:
        return status_document(place, run)
    except Damaged as fault:
        return {"schema": "oneshot/status@1", "run": run, "phase": "damaged",
                "reason": str(fault), "next": [f"oneshot verify-audit {run}"]}


def _line(place: Place, run: RunId) -> tuple[str, ...]:
    try:
        head = place.queries.head(run)
    except Damaged:
        return run, "damaged", f"oneshot verify-audit {run}"
    return run, _phase(place, head), f"step {head.spent.steps}"
