"""What a command can reach behind the walls of each tier, tried by commands that try it."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.commands import Ran, Shell
from controller.core.action import Command
from controller.core.policy import Policy, Reach
from controller.core.redact import Redactor
from controller.core.tier import Tier
from controller.processes import marked
from controller.sandbox.bubblewrap import confined
from controller.sandbox.choice import NO_COMMANDS, Sandbox, choose
from controller.sandbox.preflight import preflight
from controller.sandbox.profile import WORK, Bounds, Mount, Profile
from controller.sandbox.toolchain import toolchain

TIERS = [Tier.BUBBLEWRAP, Tier.LANDLOCK]
PYTHON = toolchain([Path(sys.executable).parent], (), None)
Run = Callable[..., Ran]


@pytest.fixture
def shell(tmp_path: Path, request: pytest.FixtureRequest,
          sandboxes: dict[Tier, Sandbox]) -> Shell:
    """A shell in the tier that the test is for (tier 1 unless it says)."""
    for name in ("work", "scratch", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside").chmod(0o777)
    (tmp_path / "outside/secret").write_text("theirs")
    tier = getattr(request, "param", Tier.BUBBLEWRAP)
    policy = Policy(timeout=10, idle=8, output_bytes=1_000_000)
    return Shell(policy, tmp_path / "scratch", str(tmp_path / "scratch"), sandboxes[tier], PYTHON)


@pytest.fixture
def run(shell: Shell, tmp_path: Path) -> Run:
    def go(line: str, reach: Reach = Reach(), **more: bool) -> Ran:  # noqa: B008  (a value)
        command = Command(("bash", "-c", line), **more)
        return shell.run(command, tmp_path / "work", {"OUT": str(tmp_path / "outside")}, reach)

    return go


def test_the_best_sandbox_that_can_be_built_here_is_bubblewrap(tmp_path: Path) -> None:
    assert choose(tmp_path / "trial", None, Bounds()).tier is Tier.BUBBLEWRAP
    assert not (tmp_path / "trial").exists()


def test_a_preflight_sees_that_nothing_is_denied_where_there_are_no_walls(tmp_path: Path) -> None:
    trial = tmp_path / "trial"

    why = preflight(Tier.NONE, Profile(trial / "work", trial / "home", trial / "tmp"))

    assert "a file outside the worktree was written" in why
    assert "a server of this machine was reached" in why


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be refused for being root")
@pytest.mark.parametrize("tier", TIERS)
def test_a_sandbox_whose_commands_would_be_roots_is_refused(tier: Tier, tmp_path: Path) -> None:
    trial = tmp_path / "trial"

    why = preflight(tier, Profile(trial / "work", trial / "home", trial / "tmp"))

    assert "it ran as root" in why


@pytest.mark.parametrize("shell", TIERS, indirect=True)
@pytest.mark.parametrize("line", [
    "echo x > $OUT/new", "echo x > $OUT/secret", "rm $OUT/secret", "ln -s $OUT l; echo x > l/new",
    "mv $OUT/secret .", "mkdir -p ../x && echo x > ../x/y", "echo x > /usr/x",
    "cd /; touch /x /etc/x",
    "mount -t tmpfs x $OUT", "unshare -Ur true", "unshare -n true", "kill -9 -1; echo x > $OUT/new",
    "python3 -c 'import ctypes as c; exit(c.CDLL(None).ptrace(0, 0, 0, 0) == 0)'; false",
    "echo x > /proc/sys/kernel/core_pattern", "nsenter -t 1 -a true", "chroot / true",
], ids=lambda line: str(line)[:24])
def test_nothing_outside_the_worktree_can_be_changed(run: Run, line: str, tmp_path: Path) -> None:
    ran = run(line)

    assert ran.exit != 0
    assert [(path.name, path.read_text()) for path in (tmp_path / "outside").iterdir()] == [
        ("secret", "theirs")]


@pytest.mark.parametrize("shell", TIERS, indirect=True)
@pytest.mark.parametrize("line", [
    "cat $OUT/secret", "cat /etc/shadow", "ls -A ~root/.ssh", "cat /root/.bash_history",
    "exec 3<>/dev/tcp/127.0.0.1/22", "getent hosts example.org",
    "tr '\\0' '\\n' < /proc/$PPID/environ | grep ONESHOT_TEST",
    "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'",
    "python3 -c 'import socket as s; x = s.socket(s.AF_INET, s.SOCK_DGRAM); x.sendto(b\"x\", "
    "(\"1.1.1.1\", 53))'", "python3 -c 'import socket; socket.socket(40)'",
], ids=lambda line: str(line)[:24])
def test_nothing_outside_can_be_read_or_called(run: Run, line: str) -> None:
    assert run(line).exit != 0


@pytest.mark.parametrize("shell", TIERS, indirect=True)
@pytest.mark.parametrize("line", [
    "echo hi", "sleep 300 & echo hi", "setsid sleep 300 & echo hi",
    "(setsid sh -c 'trap \"\" TERM HUP; sleep 300' &) ; echo hi",
    "env -i setsid sleep 300 & disown; echo hi",
    "python3 -c 'import os\nfor n in range(2):\n  if os.fork(): os._exit(0)\n  os.setsid()\n"
    "import time; time.sleep(300)' & echo hi",
], ids=["nothing", "child", "setsid", "deaf", "no-mark", "daemon"])
def test_nothing_survives_a_command(run: Run, shell: Shell, line: str) -> None:
    ran = run(f"export SEEN_BY={shell.mark}; {line}")

    assert (ran.exit, ran.output) == (0, "hi\n")
    assert marked(shell.mark) == ()
    assert _with(f"SEEN_BY={shell.mark}") == []


def _with(variable: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("shell", TIERS, indirect=True)
def test_a_command_finds_an_empty_home_and_nothing_of_the_users_environment(
        run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "CANARY")

    ran = run("env; ls -A $HOME $TMPDIR | wc -l; touch $HOME/x $TMPDIR/x; cat; id -u")

    assert ran.exit == 0
    assert "CANARY" not in ran.output
    assert run("ls -A $HOME $TMPDIR | grep x").exit == 1
    assert ran.output.strip().split("\n")[-1] != "0"


@pytest.mark.parametrize(("line", "exit", "said"), [
    ("for n in $(seq 300); do sleep 5 & done; wait", None, "Resource temporarily unavailable"),
    ("python3 -c 'x = bytearray(8 << 30)'", 1, "MemoryError"),
    ("head -c 3G /dev/zero > big", 153, ""),
], ids=["processes", "memory", "file"])
@pytest.mark.parametrize("shell", TIERS, indirect=True)
def test_what_a_command_may_use_is_bounded(
        run: Run, line: str, exit: int | None, said: str) -> None:
    ran = run(line)

    assert said in ran.output
    assert exit in (None, ran.exit)


def test_a_command_has_a_loopback_of_its_own(run: Run) -> None:
    ran = run("python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 & "
              "(for n in $(seq 50); do exec 3<>/dev/tcp/127.0.0.1/8765 && exit; sleep 0.1; done) "
              "2>/dev/null; exec 3<>/dev/tcp/127.0.0.1/8765; "
              "printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -n 1 <&3")

    assert ran.output.startswith("HTTP/1.0 200")


def test_nothing_is_ever_mounted_below_the_worktree(tmp_path: Path) -> None:
    """A link that an agent put there would be followed outside (CVE-2026-87766)."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "evil").symlink_to("/oldroot/home")
    below = [Path(WORK) / "x", Path(WORK), Path("/")]
    mounts = (*toolchain([work / ".venv/bin"], below, None).mounts, Mount(tmp_path, "/opt/x"))
    profile = Profile(work, tmp_path, tmp_path, mounts, mirror=tmp_path)

    with confined(profile, ["true"], {}) as walls:
        line = list(walls.argv)

    made = [line[at + 2] for at, word in enumerate(line) if word in ("--bind", "--ro-bind")]
    assert [place for place in made if place.startswith(WORK)] == [WORK]
    assert [line[at + 1] for at, word in enumerate(line) if word in ("--tmpfs", "--dir")
            and line[at + 1].startswith(WORK)] == []


def test_a_command_that_is_not_there_says_where_it_was_looked_for(
        shell: Shell, tmp_path: Path) -> None:
    ran = shell.run(Command(("no-such-program",)), tmp_path / "work")

    assert not ran.started
    assert "no-such-program: No such file or directory; PATH is " in ran.ending


def test_no_command_runs_without_a_sandbox_that_was_chosen(shell: Shell, tmp_path: Path) -> None:
    from controller.core.errors import WorldError

    with pytest.raises(WorldError, match="no command may run here"):
        replace(shell, sandbox=NO_COMMANDS).run(Command(("true",)), tmp_path / "work")


def test_the_canary_lies_in_the_home_folder_and_is_noticed_when_it_is_printed(
        shell: Shell, tmp_path: Path) -> None:
    bird = replace(shell, redactor=Redactor(canary="canary-0123456789abcdef"))

    ran = bird.run(Command(("bash", "-c", "base64 ~/.env")), tmp_path / "work")

    assert ran.canary
    assert "redacted" in ran.output


@pytest.mark.parametrize("shell", TIERS, indirect=True)
@pytest.mark.parametrize(("line", "says"), [
    ("read -p 'Password: ' x < /dev/tty", "for a name or a password"),
    ("read -p 'Overwrite? [y/N] ' x", "for yes or no"),
    ("printf 'a\\n--More--'; sleep 60", "in a pager"),
    ("printf '\\033[?1049h'; sleep 60", "an editor or another full screen"),
    ("read -p 'package name: (x) ' x", "it waits for an answer"),
    ("read -p 'Press any key to go on' x", "for a key"),
], ids=["password", "yes-no", "pager", "editor", "open", "key"])
def test_a_command_that_waits_for_a_person_is_ended_with_a_word_on_what_to_do(
        run: Run, line: str, says: str) -> None:
    ran = run(line, tty=True)

    assert "waited for a person" in ran.ending
    assert says in ran.ending


@pytest.mark.parametrize("shell", TIERS, indirect=True)
def test_without_a_terminal_nothing_can_be_asked(run: Run) -> None:
    ran = run("read x; echo $?; python3 -c 'input()'; (exec < /dev/tty) 2>&1 | grep -c tty; "
              "test -t 0 || echo none")

    assert ran.output.split("\n")[0] == "1"
    assert "EOFError" in ran.output
    assert ran.output.endswith("1\nnone\n")


@pytest.mark.parametrize("shell", TIERS, indirect=True)
def test_a_program_that_insists_on_a_terminal_gets_one(run: Run) -> None:
    ran = run("test -t 0 && test -t 1 && echo yes > /dev/tty; exit 3", tty=True)

    assert (ran.exit, ran.output) == (3, "yes\n")


def test_silence_ends_a_command(shell: Shell, tmp_path: Path) -> None:
    quiet = replace(shell, policy=replace(shell.policy, idle=1))

    ran = quiet.run(Command(("bash", "-c", "echo begun; sleep 60")), tmp_path / "work")

    assert ran.exit is None
    assert "said nothing for too long" in ran.ending


def test_a_sandbox_that_somebody_kills_has_run(shell: Shell, tmp_path: Path) -> None:
    """The machine may be out of memory: that is no sandbox that could not be built."""
    import signal
    import threading

    def kill() -> None:
        while not (tmp_path / "work/begun").exists():
            pass
        os.kill(min(marked(shell.mark)), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    ran = shell.run(Command(("sh", "-c", "touch begun; sleep 60")), tmp_path / "work")
    killer.join()

    assert (ran.exit, ran.cut_short) == (-9, True)
    assert marked(shell.mark) == ()
