"""Children come to an end, with everything they started."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.core.errors import WorldError
from controller.core.head import Owner
from controller.process import (
    Ended,
    Job,
    alive,
    capture,
    end_recorded,
    supervise,
    this_process,
)

ENV = {"PATH": os.defpath}
MakeJob = Callable[..., Job]


@pytest.fixture
def job(tmp_path: Path) -> MakeJob:
    def make(shell: str, **limits: float) -> Job:
        return Job(["sh", "-c", shell], tmp_path, ENV, tmp_path / "out",
                   record=tmp_path / "record", **limits)  # type: ignore[arg-type]  # names of limits

    return make


def test_output_and_exit_are_the_childs_own(job: MakeJob, tmp_path: Path) -> None:
    result = supervise(job("echo out; echo err >&2; exit 3"))

    assert (result.ended, result.exit) == (Ended.EXITED, 3)
    assert (tmp_path / "out").read_text() == "out\nerr\n"


@pytest.mark.parametrize(("shell", "limits", "ended"), [
    ("sleep 60", {"timeout": 0.3}, Ended.TIMED_OUT),
    ("echo x; sleep 60", {"silence": 0.4}, Ended.SILENT),
    ("yes", {"size": 100_000}, Ended.FLOODED),
    ("head -c 200000 /dev/zero", {"size": 100_000}, Ended.FLOODED),
], ids=["time", "silence", "size", "size-at-the-end"])
def test_a_limit_ends_the_child(
        job: MakeJob, shell: str, limits: dict[str, float], ended: Ended) -> None:
    assert supervise(job(shell, **limits)).ended is ended


def test_a_child_that_talks_is_not_silent(job: MakeJob) -> None:
    result = supervise(job("for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done", silence=0.6))

    assert result.ended is Ended.EXITED


def test_the_whole_group_is_ended(job: MakeJob, tmp_path: Path) -> None:
    shell = f"sleep 60 & echo $! > {tmp_path}/bg; trap '' TERM; sleep 60"

    supervise(job(shell, timeout=0.4))

    assert not _running(int((tmp_path / "bg").read_text()))


def test_a_child_has_no_input_of_ours(job: MakeJob, tmp_path: Path) -> None:
    supervise(job("cat; echo end"))

    assert (tmp_path / "out").read_text() == "end\n"


def test_a_program_that_is_not_there_is_a_result(tmp_path: Path) -> None:
    result = supervise(Job(["no-such-program"], tmp_path, ENV, tmp_path / "out"))

    assert (result.ended, result.exit) == (Ended.NOT_STARTED, None)
    assert result.fault == "no-such-program: No such file or directory"


def test_the_child_a_dead_controller_left_is_ended(tmp_path: Path) -> None:
    """The controller is killed -9; its record names the child, and the next one ends it."""
    script = ("import os, signal, sys, threading; from pathlib import Path; "
              "from controller.process import Job, supervise; here = Path(sys.argv[1]); "
              "job = Job(['sh', '-c', 'echo $$ > pid; exec sleep 60'], here, {'PATH': os.defpath}, "
              "here / 'out', record=here / 'record'); "
              "threading.Thread(target=supervise, args=(job,)).start()\n"
              "while not all((here / name).exists() and (here / name).read_text() "
              "for name in ('pid', 'record')): pass\n"
              "os.kill(os.getpid(), signal.SIGKILL)")
    capture([sys.executable, "-c", script, str(tmp_path)], cwd=Path.cwd(), env=ENV)
    pid = int((tmp_path / "pid").read_text())
    assert _running(pid)

    assert end_recorded(tmp_path / "record") is True

    assert not (tmp_path / "record").exists()
    assert not _running(pid)


def test_children_whose_leader_has_ended_are_ended_too(tmp_path: Path) -> None:
    capture(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $! $$ > pids"], cwd=tmp_path, env=ENV)
    child, leader = map(int, (tmp_path / "pids").read_text().split())
    (tmp_path / "record").write_text(f"{leader} 1\n")
    assert _running(child)

    assert end_recorded(tmp_path / "record") is True

    _until_gone(child)


def test_another_process_with_the_recorded_number_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "record").write_text(f"{os.getpid()} 1\n")

    assert end_recorded(tmp_path / "record") is False


def test_no_record_and_a_damaged_record_name_nobody(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_text("12")

    assert [end_recorded(tmp_path / name) for name in ("none", "damaged")] == [False, False]


def test_a_short_command_that_does_not_end_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"did not end within 0 s"):
        capture(["sleep", "60"], cwd=tmp_path, env=ENV, timeout=0.2)


def test_we_are_alive_and_another_of_our_number_is_not() -> None:
    from dataclasses import replace

    here = this_process()

    assert alive(here)
    assert not alive(replace(here, mark="another boot/1"))
    assert not alive(replace(here, pid=2**22 - 1))
    assert alive(replace(here, host="elsewhere", mark="unknown")) is None


def test_a_process_that_has_ended_and_is_not_waited_for_is_dead() -> None:
    tell = "from controller.process import this_process as p; print(p().pid, p().host, p().mark)"
    with subprocess.Popen([sys.executable, "-c", tell], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        pid, host, mark = child.stdout.read().strip().split(" ", 2)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert not alive(Owner(host, int(pid), mark))


def _running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _until_gone(pid: int) -> None:
    import select

    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([pidfd], [], [], 5)[0], f"process {pid} is still there"
    os.close(pidfd)
