"""Children come to an end, with everything they started."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.core.errors import WorldError
from controller.core.head import Owner
from controller.locks import locked
from controller.process import MARK, capture, supervise
from controller.processes import alive, end_marked, marked, this_process
from controller.watching import Ended, Job

ENV = {"PATH": os.defpath}
MakeJob = Callable[..., Job]


@pytest.fixture
def job(tmp_path: Path) -> MakeJob:
    def make(shell: str, **limits: float) -> Job:
        return Job(["sh", "-c", shell], tmp_path, ENV, tmp_path / "out", **limits)  # type: ignore[arg-type]  # names of limits

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


def test_whatever_a_dead_controller_left_running_is_ended(tmp_path: Path) -> None:
    """The controller is killed -9 in the instant in which its child starts another, which leaves
    the child's group: both carry the mark.
    """
    mark = str(tmp_path)
    script = ("import os, signal, sys, threading; from pathlib import Path; "
              "from controller.process import Job, supervise; here = Path(sys.argv[1]); "
              "job = Job(['sh', '-c', 'setsid sleep 60 & exec sleep 61'], here, "
              "{'PATH': os.defpath}, here / 'out', mark=str(here)); "
              "threading.Thread(target=supervise, args=(job,)).start()\n"
              "from controller.processes import marked\n"
              "while len(marked(str(here))) < 2: pass\n"
              "os.kill(os.getpid(), signal.SIGKILL)")
    capture([sys.executable, "-c", script, mark], cwd=Path.cwd(), env=ENV)
    left = marked(mark)
    assert len(left) == 2

    end_marked(mark)

    assert not any(_running(pid) for pid in left)
    assert marked(mark) == ()


def test_what_carries_another_mark_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "60"], env={**ENV, MARK: f"{tmp_path}/other"})
    try:
        end_marked(str(tmp_path))
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_child_that_outlives_us_keeps_the_lock_that_it_inherited(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    script = ("import os, signal, sys; from pathlib import Path; "
              "from controller.locks import locked; from controller.process import capture\n"
              "with locked(Path(sys.argv[1])) as held:\n"
              "    capture(['sh', '-c', f'kill -9 {os.getpid()}; sleep 1; touch done'], "
              "cwd=Path(sys.argv[2]), env={'PATH': os.defpath}, inherited=(held,))")
    capture([sys.executable, "-c", script, str(lock), str(tmp_path)], cwd=Path.cwd(), env=ENV)

    with pytest.raises(WorldError, match="stays locked"), locked(lock, seconds=0.1):
        pass
    with locked(lock):
        assert (tmp_path / "done").exists()


def test_a_short_command_that_does_not_end_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"did not end within 0 s"):
        capture(["sleep", "60"], cwd=tmp_path, env=ENV, timeout=0.2)


def test_we_are_alive_and_another_of_our_number_is_not() -> None:
    from dataclasses import replace

    here = this_process()

    assert alive(here)
    assert not alive(replace(here, mark="another boot/1/1"))
    assert alive(replace(here, mark=re.sub("/pid:[^/]*/", "/another/", here.mark))) is None
    assert not alive(replace(here, pid=2**22 - 1))
    assert alive(replace(here, host="elsewhere", mark="unknown")) is None


def test_a_process_that_has_ended_and_is_not_waited_for_is_dead() -> None:
    tell = "from controller.processes import this_process as p; print(p().pid, p().host, p().mark)"
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
