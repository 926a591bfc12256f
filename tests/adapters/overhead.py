"""Bytes of a request beside our prompt and the schema of the answer: `scripts/overhead_table`."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from adapters.measure import Measure, measure
from adapters.registry import Setup, find
from controller.cli.place import SystemClock
from controller.settings import Settings
from tests.adapters.conftest import CLIENTS, PATH, Client, binary

MOST = {"claude_cli key": 1169, "claude_cli login": 1436, "codex_cli": 2105, "pi_cli": 326}
"""What was measured of the CLIs with everything switched off (whole requests of 1,418, 1,685, 2,494
and 335 bytes, with a prompt of 9 and a schema of 240, codex 380). APIs have their own fields only.
"""


def measured(client: Client, folder: Path) -> Measure:
    """What a client sends, asked of nobody."""
    settings = Settings(folder, folder, folder, PATH, {}, {"MODEL_URL": "http://127.0.0.1:9"})
    config = replace(client.config(""), first_timeout=60, total_timeout=60,
                     binary=binary(client.variable) if client.variable else None)
    setup = Setup(settings, config, folder / "m", folder, SystemClock())
    return measure(find(config.adapter), setup, login="login" in client.name)


def main() -> int:
    """Print the table; 1 when a figure is above what it is known to come down to."""
    wrong = 0
    print(f"{'':18} {'bytes':>6} {'at most':>8}")
    for client in CLIENTS[:-1]:  # the last is a program of the user's
        with tempfile.TemporaryDirectory() as folder:
            found = measured(client, Path(folder))
        most = MOST.get(client.name)
        bad = found.added is None or bool(found.leaks) or (
            most is not None and found.added > most)
        wrong += bad
        print(f"{client.name:18} {found.added or 0:6,} {most or '':>8} "
              f"{'WRONG ' + '; '.join(found.leaks) if bad else ''}".rstrip())
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
