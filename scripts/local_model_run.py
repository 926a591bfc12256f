"""Ten steps of a real run on a small model, and what came of them.

    local_model_run.py ENGINE TOOLS [FOLDER]
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STEPS, WAIT = 10, 120.0
NAME = "qwen2.5-coder-0.5b"

CONTRACT = """\
goal: The file greeting.txt says hello.
success_criteria:
  greets:
    text: greeting.txt has the word hello in it.
    check: {argv: [grep, -q, hello, greeting.txt]}
"""

SKILL = """\
You fix one small thing in a repository. Answer with one JSON object. Its action is one of:
- write a file: {"kind": "edit", "changes": [
    {"op": "write", "path": "greeting.txt", "content": "…"}]}
- look at a file: {"kind": "read", "files": [{"path": "README.md"}]}
- commit what was edited: {"kind": "commit", "message": "…"}
- when it is committed: {"kind": "finish", "result": "done", "summary": "…"}
"""

CONFIG = """\
model: {{adapter: openai_api, api: chat, model: {name}, base_url: "http://127.0.0.1:{port}/v1",
         max_output_tokens: 400, first_timeout: 600, total_timeout: 600}}
limits: {{steps: {steps}, refusals_in_a_row: {steps}}}
retry: {{outage: 10m}}
"""


def command(engine: str, tools: Path, port: int) -> list[str]:
    """What starts a server."""
    python, model = tools / engine / "bin/python", str(tools / "model.gguf")
    if engine == "xllamacpp":
        return [str(python), "scripts/local_model_server.py", model, str(port)]
    return [str(python), "-m", "llama_cpp.server", "--model", model, "--model_alias", NAME,
            "--host", "127.0.0.1", "--port", str(port), "--n_ctx", "16384", "--n_threads", "1",
            "--n_threads_batch", "1"]


@contextmanager
def serving(engine: str, tools: Path, log: Path) -> Iterator[int]:
    """The port of a server that is ready, and ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as out, subprocess.Popen(
            command(engine, tools, port), stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(log.parent)}) as server:
        try:
            await_ready(server, port)
            yield port
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def await_ready(server: "subprocess.Popen[bytes]", port: int) -> None:
    """Come back when it answers."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    sys.exit("the model server did not come up; its log is beside the repository")


def repository(folder: Path, port: int) -> Path:
    """A small repository with a contract."""
    repo = folder / "repo"
    (repo / ".agent-contract").mkdir(parents=True)
    (repo / "README.md").write_text("A repository for a small model.\n")
    (repo / "greeting.txt").write_text("goodbye\n")
    for name, text in {"intent-contract.yaml": CONTRACT, "skill-spec.md": SKILL,
                       "policy.yaml": "{}\n",
                       "config.yaml": CONFIG.format(name=NAME, port=port, steps=STEPS)}.items():
        (repo / ".agent-contract" / name).write_text(text)
    me = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for line in (["init", "-q"], ["add", "."], [*me, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(repo), *line], check=True)
    return repo


def main(engine: str, tools: Path, folder: Path) -> int:
    """Run, and print what it was."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"),
           "XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C.UTF-8"}

    def oneshot(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["oneshot", "-C", str(folder / "repo"), *words], env=env, text=True,
                              stdout=subprocess.PIPE, check=False)

    with serving(engine, tools, folder / "server.log") as port:
        repository(folder, port)
        begun = time.monotonic()
        ran = oneshot("run")
        for _ in range(STEPS):
            if ran.returncode != 5:  # a small model is stuck soon; somebody lets it go on
                break
            ran = oneshot("resume")
        seconds = time.monotonic() - begun
    print(oneshot("cost", "--steps").stdout)
    trail = [json.loads(line) for line in next(
        (folder / "repo/.agent-runtime/runs").glob("*/audit.jsonl")).read_text().splitlines()]
    kinds = [record["kind"] for record in trail]
    for known in sorted(folder.glob("cache/**/endpoints.json")):
        print(f"what the endpoint was found to know: {known.read_text()}")
    called = [record for record in trail if record["kind"] in ("committed", "refused")]
    each = seconds / max(1, len(called))
    print(f"{engine}: {len(called)} calls answered in {seconds:.0f} s ({each:.1f} s a call): "
          f"{kinds.count('committed')} transitions passed every gate, "
          f"{kinds.count('refused')} were refused, {kinds.count('unanswered')} calls brought no "
          f"reply; exit {ran.returncode}")
    whole = subprocess.run(["oneshot", "-C", str(folder / "repo"), "verify-audit"], env=env,
                           check=False).returncode == 0
    return 0 if whole and called and ran.returncode in (0, 3, 5) else 1


if __name__ == "__main__":
    given = sys.argv[3:]
    with tempfile.TemporaryDirectory(prefix="oneshot-local-model-") as made:
        place = Path(given[0]) if given else Path(made)
        place.mkdir(parents=True, exist_ok=True)
        sys.exit(main(sys.argv[1], Path(sys.argv[2]), place))
