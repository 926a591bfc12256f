"""`oneshot demo`: the main job on a small repository, with a scripted model and a real kill -9."""

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import click

from controller.checkout import open_checkout
from controller.cli.place import Place, open_place
from controller.cli.show import line, talk
from controller.core.canonical import entries
from controller.core.errors import SetupError, WorldError
from controller.core.head import RunId, Stop
from controller.process import capture, supervise
from controller.processes import marked
from controller.settings import Settings, from_environment
from controller.watching import Job

_START = "import sys; from controller.cli import main; sys.argv[0] = 'oneshot'; main()"
_BEFORE_DRIFT = 8  # steps until somebody else edits a file
_KILLED_AT = 11  # the step in which the controller is killed
_LIMIT = 120  # seconds for one command of the demo

_DRIFT = '''
    def is_empty(self) -> bool:
        """Whether nothing was put in."""
        return not self.lines
'''


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demo plays: its folder, the repository in it, the environment of its commands."""

    folder: Path
    repo: Path
    env: dict[str, str]
    cassette: Path

    @property
    def place(self) -> Place:
        """The record, opened anew."""
        settings = from_environment()
        return open_place(self.repo, Settings(
            settings.home, self.folder / "cache/oneshot", self.folder / "home/.local/state/oneshot",
            settings.path, {}))


@click.command("demo")
@click.option("--dir", "folder", type=click.Path(file_okay=False, path_type=Path),
              help="Play there and keep it (the folder must be new).")
@click.pass_context
def command(context: click.Context, folder: Path | None) -> None:
    """Fix two bugs in a small repository in 16 steps. The model is a script, the rest is real."""
    _needs_pytest()
    stage = _set_up(folder)
    line("A scripted model (not an AI) fixes two bugs in 16 one-shot steps. The edits, pytest,\n"
         f"the kill -9 and the proof are real. Repository: {stage.repo}\n")
    _oneshot(stage, "run", "--cassette", str(stage.cassette), "--steps", str(_BEFORE_DRIFT))
    _drift(stage)
    _killed(stage)
    line("   oneshot resume")
    _oneshot(stage, "resume")
    waiting = [str(item["id"])
               for item in stage.place.queries.questions(stage.place.run(None))]
    for confirmation in waiting:
        line(f"   the model wants to change a test, so a person is asked: oneshot approve "
             f"{confirmation}")
        _oneshot(stage, "approve", confirmation)
    _oneshot(stage, "resume")
    context.exit(_sum_up(stage))


def _needs_pytest() -> None:
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise SetupError("the demo runs a real test suite: install pytest beside oneshot, or use "
                         "scripts/demo")


def _set_up(folder: Path | None) -> Stage:
    place = folder or Path(tempfile.mkdtemp(prefix="oneshot-demo-"))
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        raise SetupError(f"{place} is not empty; name a new folder")
    place = place.resolve()
    repo, cassette = place / "basket", place / "cassette.jsonl"
    with as_file(files("contracts") / "examples/demo") as source:
        shutil.copytree(source / "project", repo)
        shutil.copytree(source / "contract", repo / ".agent-contract")
        shutil.copy(source / "cassette.jsonl", cassette)
    policy = repo / ".agent-contract/policy.yaml"
    python = json.dumps(str(Path(sys.executable).parent))
    policy.write_text(policy.read_text() + f"environment: {{path: [{python}]}}\n")
    _commit_all(repo)
    home = place / "home"
    home.mkdir()
    env = {"PATH": os.defpath, "HOME": str(home), "XDG_CACHE_HOME": str(place / "cache"),
           "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    return Stage(place, repo, env, cassette)


def _commit_all(repo: Path) -> None:
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_NAME": "demo", "GIT_AUTHOR_EMAIL": "demo@localhost",
           "GIT_COMMITTER_NAME": "demo", "GIT_COMMITTER_EMAIL": "demo@localhost"}
    for args in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "A basket with two bugs")):
        said = capture(("git", *args), cwd=repo, env=env)
        if said.exit:
            raise WorldError(f"git {args[0]} failed: {said.stderr.decode(errors='replace')}")


def _oneshot(stage: Stage, *args: str) -> None:
    """Run our own command as a process of its own, and show what it says."""
    output = stage.folder / "output"
    supervise(_job(stage, output, args))
    click.echo(output.read_text("utf-8", "replace"), nl=False)


def _job(stage: Stage, output: Path, args: tuple[str, ...]) -> Job:
    return Job(argv=[sys.executable, "-P", "-c", _START, *args], cwd=stage.repo, env=stage.env,
               stdout=output, timeout=_LIMIT)


def _drift(stage: Stage) -> None:
    place = stage.place
    file = place.worktree(place.run(None)) / "src/basket/cart.py"
    file.write_text(file.read_text() + _DRIFT)
    line("   somebody else adds a method to src/basket/cart.py behind the run's back")


def _killed(stage: Stage) -> None:
    """Start the next steps and kill the controller -9 while its command is running."""
    output = stage.folder / "output"
    going = threading.Thread(target=supervise, args=(_job(stage, output, ("resume",)),))
    going.start()
    place, run = stage.place, stage.place.run(None)
    while going.is_alive():
        going.join(0.02)
        holder = place.queries.holder(run)
        if holder and _is_at_work(place, run) and marked(str(place.worktree(run).parent)):
            os.kill(holder.pid, signal.SIGKILL)
            break
    going.join()
    click.echo(output.read_text("utf-8", "replace"), nl=False)
    if stage.place.queries.effect(run) is None:
        raise WorldError("the demo could not kill the controller in the middle of a command")
    line(f"   the controller was killed (kill -9) in step {_KILLED_AT}, while pytest was running\n"
         "   oneshot status")
    _oneshot(stage, "status")


def _is_at_work(place: Place, run: RunId) -> bool:
    return (place.queries.effect(run) is not None
            and place.queries.head(run).spent.steps == _KILLED_AT)


def _sum_up(stage: Stage) -> int:
    place = stage.place
    run = place.run(None)
    head = place.queries.head(run)
    calls = [entries(record.get("call")) for record in place.queries.audit(run)]
    sizes = [int(str(call["prompt_bytes"])) for call in calls if call]
    line(f"\nprompt per step: {min(sizes)} to {max(sizes)} bytes")
    user = open_checkout(stage.repo)
    line(user.git("log", "--oneline", "--stat", f"oneshot/{run}", "-1").decode("utf-8", "replace"))
    line(f"report: {place.runs / run / 'report.html'}")
    if head.stopped is None or head.stopped.why is not Stop.FINISHED:
        talk("the demo did not end proved done: that is a bug, please report it")
        return 1
    line("\nNext: cd your-repository && oneshot init --goal \"…\" && oneshot plan")
    return 0
