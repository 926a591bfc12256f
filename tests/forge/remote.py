"""A remote repository on loopback with branch protection, as a forge's git side has it."""

import os
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_NAME = "remote.git"

_PRE_RECEIVE = """\
#!/bin/sh
# One refused ref refuses the push. An id of zeros is a branch that is made or deleted.
while read -r old new ref; do
  if [ "$ref" = refs/heads/main ]; then
    echo "error: GH006: Protected branch update failed for $ref." >&2
    exit 1
  fi
  case "$old" in *[!0]*) ;; *) continue ;; esac
  case "$new" in *[!0]*) ;; *) continue ;; esac
  if ! git merge-base --is-ancestor "$old" "$new"; then
    echo "error: GH013: Cannot force-push to $ref." >&2
    exit 1
  fi
done
"""

# Not in pre-receive: an update that it lets through can still lose to another push.
_POST_RECEIVE = """\
#!/bin/sh
exec cat >>pushes
"""


@contextmanager
def protected_remote(folder: Path, seed: Path | None = None) -> Iterator[str]:
    """Serve a bare repository `remote.git` in the folder at the URL this gives, until the end.

    A push may not change main, nor take history from another branch; it may delete one. Each ref
    that was updated is a line `old new ref` in the repository's file `pushes`. With `seed`, main
    starts at that repository's HEAD, which no push could bring about.
    """
    bare = _bare_repository(folder / _NAME)
    if seed:
        _git(folder, "-C", str(bare), "fetch", "--quiet", str(seed.resolve()), "HEAD:main")
    port = _free_port()
    with _daemon(folder, port):
        yield f"git://127.0.0.1:{port}/{_NAME}"


def pushes(folder: Path) -> list[str]:
    """The ref updates that the folder's remote has taken, as `old new ref`."""
    log = folder / _NAME / "pushes"
    return log.read_text().splitlines() if log.exists() else []


def _bare_repository(bare: Path) -> Path:
    init = ("init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(bare))
    _git(bare.parent, *init)
    _git(bare.parent, "-C", str(bare), "config", "core.hooksPath", "hooks")
    for name, text in (("pre-receive", _PRE_RECEIVE), ("post-receive", _POST_RECEIVE)):
        hook = bare / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(text)
        hook.chmod(0o755)
    return bare


@contextmanager
def _daemon(folder: Path, port: int) -> Iterator[None]:
    where = ("--listen=127.0.0.1", f"--port={port}", f"--base-path={folder}", "--reuseaddr")
    what = ("--export-all", "--enable=receive-pack", "--verbose")
    daemon = subprocess.Popen(
        ["git", "daemon", *where, *what],
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = daemon.stderr
    assert log is not None
    drain = threading.Thread(target=deque, args=(log, 0))  # else its pipe fills, and it stops
    try:
        _await_readiness(log)
        drain.start()
        yield
    finally:
        daemon.terminate()  # git passes it on to its git-daemon
        daemon.wait(timeout=10)
        if drain.is_alive():
            drain.join()
        log.close()


def _await_readiness(log: IO[str]) -> None:
    said: list[str] = []
    for line in log:
        said.append(line)
        if "Ready to rumble" in line:
            return
    raise RuntimeError(f"git daemon did not start, and said: {''.join(said)}")


def _git(folder: Path, *argv: str) -> None:
    subprocess.run(["git", *argv], env=_environment(folder), check=True, timeout=60)


def _environment(folder: Path) -> dict[str, str]:
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **quiet}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
