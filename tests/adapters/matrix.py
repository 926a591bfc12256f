"""Every adapter against every misbehaviour, with its real client: `scripts/adapter_matrix`."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from controller.core.config import Clocks
from controller.core.errors import Refused
from controller.core.gates import admit
from controller.core.miss import Miss, TimedOut
from controller.core.prompt import render
from controller.core.records import Call, Reply
from controller.processes import marked
from controller.testing.clock import MORNING
from controller.testing.misbehaviour import Case, cases
from controller.testing.model_server import ModelServer
from controller.testing.script import to_ops
from controller.testing.world import World
from tests.adapters.conftest import CLIENTS, Client

QUICK = Clocks(5, 3, 12)
"""The clocks where one of them is to run out."""

FEW = 5
"""Requests that one call may come to. Claude goes on three times by itself where an answer was cut
(nothing stops that); who calls tools is ended at a look, ten times a second.
"""

MOST = 40.0
"""Seconds that no call may last, whatever the server does."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one adapter made of one misbehaviour; `wrong` is empty when all is as it should be."""

    client: str
    case: str
    verdict: str
    seconds: float
    requests: int
    wrong: str


def tried(client: Client, case: Case, folder: Path) -> Cell:
    """Ask once, and look at everything that must be so afterwards."""
    world = World()
    head = world.open()
    prompt = render(world.rules, head)
    with ModelServer(lambda _: case.answer) as server:
        model = client.build(server.url, folder, QUICK if case.quick else Clocks(30, 30, 30))
        begun = time.monotonic()
        said = model.propose(prompt)
        seconds = time.monotonic() - begun
    verdict, faults = _verdict(said), []
    if verdict not in case.right(client.name):
        words = f": {said.words[:160]}" if isinstance(said, Miss) else ""
        faults.append(f"expected {' or '.join(case.right(client.name))}{words}")
    if isinstance(said, Reply):
        faults += _believed(world, Call(prompt, said, MORNING), case)
    if seconds > MOST:
        faults.append(f"took {seconds:.0f} s")
    if _stays(str(folder)):
        faults.append("left a child behind")
    if len(server.requests) > FEW:
        faults.append(f"made {len(server.requests)} requests")
    return Cell(client.name, case.name, verdict, seconds, len(server.requests), "; ".join(faults))


def _stays(mark: str) -> bool:
    """Whether a process is left: one that was killed may take a moment to be gone."""
    end = time.monotonic() + 2
    while marked(mark) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(marked(mark))


def _verdict(said: Reply | Miss) -> str:
    if isinstance(said, Reply):
        return "Reply"
    timer = f" {said.why.timer.value}" if isinstance(said.why, TimedOut) else ""
    return f"{said.kind}{timer}"


def _believed(world: World, call: Call, case: Case) -> list[str]:
    """What the gates make of a reply: only a transition that is one may pass."""
    try:
        admit(call, world.head, world.authority.observe(world.head), world.rules)
    except Refused:
        return [] if case.name == "misses the schema" else ["a good answer was refused"]
    return ["the gates have passed it"] if case.name == "misses the schema" else []


def cells(only: Callable[[Client, Case], bool], jobs: int = 2) -> Iterator[Cell]:
    """Every cell of the matrix that is wanted, a few at a time."""
    wanted = [(client, case) for client in CLIENTS
              for case in cases(ops=client.encode is to_ops) if only(client, case)]
    with tempfile.TemporaryDirectory() as top, ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda number, pair: tried(pair[0], pair[1], _made(
            Path(top) / str(number))), *zip(*enumerate(wanted), strict=True))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main(args: list[str]) -> int:
    """Print the matrix. `args` name adapters or cases; without any it is whole."""
    wrong = count = 0
    for cell in cells(lambda client, case: not args or any(
            word in (client.name, case.name, client.name.split()[0]) for word in args),
            os.cpu_count() or 2):
        count, wrong = count + 1, wrong + bool(cell.wrong)
        print(f"{cell.client:17} {cell.case:32} {cell.verdict:22} {cell.seconds:5.1f} s "
              f"{cell.requests} {'WRONG: ' + cell.wrong if cell.wrong else ''}".rstrip(),
              flush=True)
    print(f"{count} cells, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
