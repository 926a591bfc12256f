"""Build the repository of a real task and replay its cassette. Nothing of the project is kept here.

The cassette was written by a person who solved the task step by step, reading only what each prompt
showed: neither the newer sources nor the released fix.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main(name: str, folder: Path) -> int:
    """Build and run; the exit code is that of `oneshot run`."""
    task = json.loads((HERE / name / "task.json").read_text())
    old, new = (fetch(task["name"], task[which], folder) for which in ("old", "new"))
    repo = compose(task, old, new, folder / "repo")
    python = environment(task["tests_need"], folder / "venv")
    contract = repo / ".agent-contract"
    shutil.copytree(HERE / name / "contract", contract)
    with (contract / "policy.yaml").open("a") as policy:
        policy.write(f"environment: {{path: [{json.dumps(str(python.parent))}]}}\n")
    env = {"PATH": os.defpath, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-P", "-c", "from controller.cli import main; main()", "run",
         "--cassette", str(HERE / name / "cassette.jsonl")],
        cwd=repo, env=env, check=False).returncode


def fetch(name: str, wanted: dict[str, str], folder: Path) -> Path:
    """The unpacked source distribution of one version, checked by its digest."""
    place = folder / "sdist"
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                    ":all:", "--disable-pip-version-check", "--dest", str(place),
                    f"{name}=={wanted['version']}"], check=True)
    archive = place / f"{name}-{wanted['version']}.tar.gz"
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != wanted["sha256"]:
        raise SystemExit(f"{archive}: expected SHA-256 {wanted['sha256']}, got {found}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked" / f"{name}-{wanted['version']}"


def compose(task: dict[str, list[str]], old: Path, new: Path, repo: Path) -> Path:
    """The sources of the old version with the tests of the new one, as one Git commit."""
    shutil.copytree(old, repo)
    shutil.rmtree(repo / "tests")
    shutil.copytree(new / "tests", repo / "tests")
    for path in task["leave_out"]:
        (repo / path).unlink()
    for args in (["init", "-q"], ["add", "--all", "--force"],
                 ["-c", "user.name=task", "-c", "user.email=task@localhost", "commit", "-q", "-m",
                  "The sources of one release, the tests of the next"]):
        subprocess.run(["git", *args], cwd=repo, check=True)
    return repo


def environment(needs: list[str], place: Path) -> Path:
    """A virtual environment with what the tests need; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin/python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    *needs], check=True)
    return python


if __name__ == "__main__":
    known = sorted(place.parent.name for place in HERE.glob("*/task.json"))
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit(f"usage: scripts/real_task NAME [FOLDER]; there are: {', '.join(known)}")
    chosen = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="real-task-"))
    sys.exit(main(sys.argv[1], chosen.resolve()))
