"""A small repository with a three-step run in it, in a folder of its own for every case."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.process import capture
from controller.testing.script import write_cassette

LOG = "log.txt"
BOTH = f"echo line >> {LOG}; echo line >> second.txt"
"""A command that is seen when it is half done, and when it is done twice."""

DEPLOY = "echo $ONESHOT_KEY >> $DEPLOYED"
BLIND = "echo $ONESHOT_KEY blind >> $DEPLOYED"


def run(line: str) -> dict[str, Any]:
    """A `run` action."""
    return {"kind": "run", "shell": line}


def edit(old: str, new: str) -> dict[str, Any]:
    """An edit of two files at once."""
    return {"kind": "edit", "changes": [
        {"op": "replace", "path": name, "old": old, "new": new} for name in ("a.txt", "b.txt")]}


SCENARIOS: dict[str, list[dict[str, Any]]] = {
    "pure": [{"kind": "read", "files": [{"path": "a.txt"}]}, {"kind": "search", "pattern": "zero"},
             {"kind": "recall", "query": "zero"}],
    "workspace": [edit("zero", "one"), run(BOTH), {"kind": "commit", "message": "Both"}],
    "external": [run(BOTH), run(DEPLOY), edit("zero", "one")],
    "blind": [run(BOTH), run(BLIND), edit("zero", "one")],
    "mixed": [run(BOTH), run(DEPLOY), {"kind": "commit", "message": "Both"}],
}
"""Three actions each. The second is of the class that the scenario is named after."""

STEPS = 3

_POLICY = f"""\
external:
  - run: '{DEPLOY}'
    probe: 'cat $DEPLOYED | grep -q $ONESHOT_KEY || exit 3'
    writes: ['@FOLDER@/outside']
  - {{run: '{BLIND}', writes: ['@FOLDER@/outside']}}
environment:
  variables: {{DEPLOYED: '@FOLDER@/outside/deployed'}}
"""

_CONTRACT = """\
goal: Try to survive.
success_criteria:
  never: {check: {file: never.txt}}
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """The folder of one case; `words` is where what controllers say is written."""

    folder: Path
    scenario: str
    words: Path

    @property
    def repo(self) -> Path:
        """The user's checkout."""
        return self.folder / "repo"

    @property
    def env(self) -> dict[str, str]:
        """What the controller is started with."""
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder / "home"),
                "XDG_CACHE_HOME": str(self.folder / "cache"), "LC_ALL": "C.UTF-8"}

    @property
    def cassette(self) -> Path:
        """What the model says."""
        return self.folder / "cassette.jsonl"

    def tell(self, actions: list[dict[str, Any]]) -> None:
        """Let the model ask for these actions, and note how far it is: so it gets on."""
        write_cassette(self.cassette, ({
            "action": action, "state_patch": {"facts": {"step": {
                "text": f"step {number} is done", "source": "README.md:1"}}}}
            for number, action in enumerate(actions)))

    @property
    def deployed(self) -> list[str]:
        """What happened outside, in order."""
        file = self.folder / "outside/deployed"
        return file.read_text().splitlines() if file.exists() else []


def template(folder: Path) -> Path:
    """A checkout with one Git commit, to be copied for every case."""
    repo = folder / "repo"
    (repo / ".agent-contract").mkdir(parents=True)
    (repo / "a.txt").write_text("zero\n")
    (repo / "b.txt").write_text("zero\n")
    (repo / ".agent-contract/intent-contract.yaml").write_text(_CONTRACT)
    (repo / ".agent-contract/policy.yaml").write_text(_POLICY)
    (repo / ".agent-contract/config.yaml").write_text(
        "model: {adapter: scripted}\nlimits: {steps: 3}\n")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent",
           "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@localhost",
           "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@localhost"}
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        said = capture(("git", *args), cwd=repo, env=env)
        assert said.exit == 0, said.stderr.decode()
    return repo


def staged(source: Path, folder: Path, scenario: str, words: Path | None = None) -> Stage:
    """A copy of the template for one case."""
    stage = Stage(folder, scenario, words or folder)
    shutil.copytree(source, stage.repo)
    (folder / "home").mkdir()
    (folder / "outside").mkdir()
    (folder / "outside").chmod(0o777)  # as root, commands run as somebody else
    policy = stage.repo / ".agent-contract/policy.yaml"
    policy.write_text(policy.read_text().replace("@FOLDER@", str(folder)))
    stage.tell(SCENARIOS[scenario])
    return stage
