"""`oneshot init`: write the contract folder, with what this repository shows."""

import json
from dataclasses import dataclass
from pathlib import Path

import click

import contracts
from controller.cli.detect import Tools, tools
from controller.cli.place import open_place
from controller.cli.show import line, next_commands, talk
from controller.core.prompt import describe
from controller.documents import schema
from controller.project import FOLDER, PLACEHOLDER, transition_text, unchecked_project
from controller.settings import Settings, from_environment

_GOAL = f"{PLACEHOLDER} what should be true afterwards."

_TESTS = {
    "pyproject.toml": ("python3", "-m", "pytest", "-q"),
    "setup.py": ("python3", "-m", "pytest", "-q"),
    "package.json": ("npm", "test"),
    "Cargo.toml": ("cargo", "test"),
    "go.mod": ("go", "test", "./..."),
    "Makefile": ("make", "test"),
    "test_*.py": ("python3", "-m", "pytest", "-q"),
    "tests/test_*.py": ("python3", "-m", "pytest", "-q"),
}
"""A file -> the command that usually tests such a project."""

_NONE = ("sh", "-c", "echo replace this check by a command that fails today; exit 1")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the repository and the machine show."""

    test: tuple[str, ...]
    tools: Tools
    adapter: str
    why: str


@click.command("init")
@click.option("--goal", help="What should be true afterwards.")
@click.option("--test", "test", help="The command that must pass, as one line.")
@click.pass_obj
def command(folder: Path, goal: str | None, test: str | None) -> None:
    """Write .agent-contract/ for this repository. Files that are there are kept."""
    settings = from_environment()
    place = open_place(folder, settings, make=True)
    seen = _look(place.root, settings)
    made = place.root / FOLDER
    had = (made / "intent-contract.yaml").exists()
    made.mkdir(exist_ok=True)
    for name, text in _files(goal, test, seen).items():
        _write(made / name, text, keep=not name.startswith("schemas/"))
    project = unchecked_project(place.root)
    (made / "transition.schema.json").write_text(transition_text(project.rules), encoding="utf-8")
    if (goal or test) and had:
        talk(f"note: {FOLDER}/intent-contract.yaml was there and is kept; edit it yourself")
    for criterion in project.rules.contract.success_criteria:
        line(f"criterion {criterion.id}: {describe(criterion.check)}")
    first = project.config.models[project.config.routing.order[0]]
    line(f"model: {first.adapter} ({seen.why})")
    for tool in seen.tools.path:
        line(f"tools: {tool}")
    next_commands(f"edit {FOLDER}/intent-contract.yaml, and commit the folder", "oneshot plan",
                  "oneshot run --steps 5")


def _look(root: Path, settings: Settings) -> Seen:
    test = next((command for name, command in _TESTS.items() if any(root.glob(name))), _NONE)
    return Seen(test, tools(root, settings), *_adapter(settings))


def _adapter(settings: Settings) -> tuple[str, str]:
    for program in ("claude", "codex"):
        if settings.find(program):
            return f"{program}_cli", f"{program} is on PATH"
    for key, adapter in (("ANTHROPIC_API_KEY", "anthropic_api"), ("OPENAI_API_KEY", "openai_api")):
        if key in settings.keys:
            return adapter, f"{key} is set"
    return "claude_cli", "nothing was found: install claude or codex, or set a key"


def _files(goal: str | None, test: str | None, seen: Seen) -> dict[str, str]:
    check = f"shell: {_quoted(test)}" if test else f"argv: {_quoted(list(seen.test))}"
    schemas = {f"schemas/{name}.schema.json": json.dumps(schema(name), indent=2) + "\n"
               for name in ("intent-contract", "policy", "config")}
    return {
        "intent-contract.yaml": _CONTRACT.format(goal=_quoted(goal or _GOAL), check=check),
        "policy.yaml": _POLICY + _environment(seen.tools),
        "config.yaml": _CONFIG.format(adapter=seen.adapter),
        "skill-spec.md": contracts.skill("coding"),
        "state.schema.json": contracts.text("domains/coding/state.schema.json"),
        **schemas,
    }


def _environment(found: Tools) -> str:
    """The `environment` of a policy, with what was found."""
    lines = ["environment:", f"  path: {_quoted(list(found.path))}",
             f"  mounts: {_quoted(list(found.mounts))}   # more that commands may read",
             f"  variables: {_quoted(found.variables)}"]
    if found.setup:
        lines += ["  # Your own commands, with the network, once for each content of the lockfile.",
                  "  setup:", f"    from: {_quoted([found.source])}", "    run:",
                  *(f"      - {line}" for line in found.setup)]
    return "\n".join(lines) + "\n"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(place: Path, text: str, *, keep: bool) -> None:
    place.parent.mkdir(exist_ok=True)
    if place.exists() and keep:
        line(f"kept {FOLDER}/{place.name}")
        return
    place.write_text(text, encoding="utf-8")
    if keep:
        line(f"wrote {FOLDER}/{place.name}")


_CONTRACT = """\
# yaml-language-server: $schema=schemas/intent-contract.schema.json
# What this task is for and must not touch. No model can change it.
goal: {goal}

# The run is done when the controller has proved every one of these itself, in a clean export of the
# delivered Git commit. At least one should fail today.
success_criteria:
  tests:
    text: The test suite passes.
    check: {{{check}}}

# Plain sentences go to the model; typed constraints are enforced at each action as well.
constraints: []
#  - Keep the public functions as they are.
#  - forbid_paths: ["docs/**"]
#  - max_files: 10

locked_requirements: []
non_goals: []
must_remember: []
"""

_POLICY = """\
# yaml-language-server: $schema=schemas/policy.schema.json
# Files of the base that may change only after you agreed. Criteria are checked with these as they
# were, so that a run can't turn green by changing what is measured.
# Files that a check names are protected as well.
protected_paths:
  # tests
  - "tests/**"
  - "test/**"
  - "__tests__/"
  - "test_*.py"
  - "*_test.*"
  - "*.test.*"
  - "*.spec.*"
  - "conftest.py"
  # what runs them
  - "pyproject.toml"
  - "pytest.ini"
  - "setup.cfg"
  - "tox.ini"
  - "package.json"
  - "Makefile"
  - ".github/**"
  - ".gitlab-ci.yml"
  # what they run with
  - "*.lock"
  - "package-lock.json"

commands:
  forbid: []
  confirm: []

limits: {timeout: 300, max_timeout: 1800, idle: 300}

# Commands have no network. A `run` that asks for it is shown to you first, unless its line stands
# in pre_granted word for word; then it reaches these hosts and no others.
network:
  hosts: []          # for example: [pypi.org, files.pythonhosted.org, registry.npmjs.org]
  pre_granted: []

# Commands run in a sandbox: nothing of your home folder or your environment is there but this.
"""

_CONFIG = """\
# yaml-language-server: $schema=schemas/config.schema.json
model:
  adapter: {adapter}   # `oneshot models` lists them
  # model: NAME

limits: {{steps: 60}}
"""
