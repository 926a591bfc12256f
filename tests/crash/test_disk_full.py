"""A disk that is full, for real: a small tmpfs with the record and the worktree on it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import actors
from tests.crash.actors import Ended
from tests.crash.judge import Record
from tests.crash.stage import Stage, staged, template

SIZE = 8 * 1024 * 1024


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    source = template(tmp_path / "template")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(disk)],
                             check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("LOUD SKIP: no tmpfs can be mounted here, so no disk was filled")
    try:
        yield staged(source, disk / "case", "mixed", words=tmp_path)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(stage: Stage, free: int) -> Path:
    """Leave so many bytes of the disk free."""
    filler = stage.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - free))
    return filler


def drive(stage: Stage, arguments: tuple[str, ...]) -> Ended:
    return actors.wait(stage, actors.start(stage, *arguments))


@pytest.mark.parametrize("free", [0, 8, 32, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768])
def test_a_full_disk_gives_one_sentence_and_a_clean_resume(stage: Stage, free: int) -> None:
    filler = fill(stage, free * 1024)
    first = drive(stage, actors.new(stage))
    filler.unlink()

    last = drive(stage, actors.again(stage) if Record(stage).run else actors.new(stage))

    assert first.code in (1, 3), first.said
    assert "bug" not in first.said
    assert "Traceback" not in first.said
    assert last.code == 3, last.said
    assert len(Record(stage).committed) == 3
    assert len(stage.deployed) == 1
