"""External commands: journalled under their key, and asked about before they are done again."""

from dataclasses import replace
from pathlib import Path

import pytest

from controller.actions.hands import Hands
from controller.authorities.runtime import Runtime
from controller.core.action import Command, EffectClass
from controller.core.aim import aim
from controller.core.canonical import JsonObject, entries
from controller.core.contract import ProbeCheck
from controller.core.errors import WorldError
from controller.core.facts import Source
from controller.core.head import Head
from controller.core.parse import parse
from controller.core.policy import External, Policy, Probe, Reach
from controller.core.records import Effect, Finding, Remains, Status
from controller.testing.clock import MORNING, FixedClock
from tests.bench import RUN, Bench
from tests.forge.server import Forge, serving

DEPLOY = "echo $ONESHOT_KEY >> $OUT"


def shell(line: str) -> Command:
    return Command(("sh", "-c", line))


def reach(folder: Path) -> Reach:
    folder.chmod(0o777)  # as root, commands run as somebody else
    return Reach(writes=(str(folder),))


@pytest.fixture
def external(bench: Bench, tmp_path: Path) -> Bench:
    """A bench whose policy lists DEPLOY, with a probe that looks for the key."""
    policy = replace(
        bench.place.shell.policy,
        external=(External(shell(DEPLOY), shell("./probe.sh"), reach(tmp_path)),),
        environment=replace(Policy().environment, variables=(("OUT", str(tmp_path / "out")),)))
    place = replace(bench.place, shell=replace(bench.place.shell, policy=policy))
    return replace(bench, place=place)


def runtime(bench: Bench, probe: str) -> Runtime:
    (listed,) = bench.place.shell.policy.external
    policy = replace(bench.place.shell.policy, external=(replace(listed, probe=shell(probe)),))
    return Runtime(bench.place.snapshots.repo, replace(bench.place.shell, policy=policy),
                   bench.git.base, bench.place.clock)


def deploy(bench: Bench) -> Effect:
    return bench.effect({"kind": "run", "shell": DEPLOY})


@pytest.mark.parametrize(("probe", "happened"), [
    ("grep -q $ONESHOT_KEY $OUT", True), ("exit 3", False), ("exit 1", None),
    ("exit 2", None), ("exit 127", None), ("kill -9 $$", None), ("no-such-program", None)])
def test_the_probe_tells_whether_it_happened(
        external: Bench, probe: str, happened: bool | None) -> None:
    effect = deploy(external)
    external.hands.perform(effect)

    found = runtime(external, probe).examine(effect)

    assert found.happened is happened
    assert probe in found.text


def test_the_probe_runs_in_the_base_and_not_in_what_a_model_has_changed(external: Bench) -> None:
    (external.root / "probe.sh").write_text("exit 0\n")
    (external.root / "probe.sh").chmod(0o755)

    found = runtime(external, "./probe.sh").examine(deploy(external))

    assert found.happened is None


def test_without_a_probe_nobody_can_tell(external: Bench) -> None:
    policy = replace(external.place.shell.policy, external=(External(shell(DEPLOY)),))
    blind = Runtime(external.place.snapshots.repo,
                    replace(external.place.shell, policy=policy), external.git.base,
                    external.place.clock)

    assert blind.examine(deploy(external)) == Remains(
        None, "the policy names no probe that could tell whether it happened")


def test_only_a_command_line_that_is_listed_word_for_word_is_external(external: Bench) -> None:
    policy = external.place.shell.policy

    policy = replace(policy, external=(*policy.external, External(shell("./deploy.sh 'a b'"))))
    actions: list[JsonObject] = [
        {"kind": "run", "shell": DEPLOY}, {"kind": "run", "shell": DEPLOY + " "},
        {"kind": "run", "argv": ["./deploy.sh", "a b"]}, {"kind": "run", "shell": "x; " + DEPLOY}]
    source = Source("b", "0", "0", "0", "t")

    kinds = [aim(parse(action), source, policy).effect_class for action in actions]

    assert kinds == [EffectClass.EXTERNAL] * 3 + [EffectClass.WORKSPACE]


@pytest.mark.parametrize(("happened", "status", "lines"), [
    (True, Status.DONE, 0), (False, Status.DONE, 1), (None, Status.UNKNOWN, 0)])
def test_it_is_done_again_only_when_it_did_not_happen(
        external: Bench, tmp_path: Path, happened: bool | None, status: Status,
        lines: int) -> None:
    outcome = external.resume(deploy(external), happened)

    out = tmp_path / "out"
    assert outcome.status is status
    assert (len(out.read_text().splitlines()) if out.exists() else 0) == lines


def test_one_that_was_cut_short_is_unknown(external: Bench) -> None:
    slow = replace(external.place.shell.policy, timeout=1, external=(
        External(shell("echo begun; sleep 60")),))
    bench = replace(external, place=replace(
        external.place, shell=replace(external.place.shell, policy=slow)))

    outcome = bench.perform({"kind": "run", "shell": "echo begun; sleep 60"})

    assert outcome.status is Status.UNKNOWN


def test_what_cannot_be_seen_after_it_leaves_the_effect_open(
        external: Bench, tmp_path: Path) -> None:
    """It may have happened, so it is no failed action: whoever resumes asks the probe."""
    git_dir = external.place.snapshots.repo.git_dir
    effect = deploy(external)
    git_dir.rename(tmp_path / "gone")

    with pytest.raises((WorldError, OSError)):
        external.hands.perform(effect)

    assert (tmp_path / "out").read_text() == f"{effect.id}\n"


def test_a_run_that_is_not_ours_any_more_does_nothing_outside(
        external: Bench, tmp_path: Path) -> None:
    def lost() -> None:
        raise WorldError("taken over")

    hands = Hands(replace(external.place, fence=lost))

    with pytest.raises(WorldError, match="taken over"):
        hands.perform(deploy(external))

    assert not (tmp_path / "out").exists()


def probing(bench: Bench, *probes: Probe) -> Runtime:
    policy = replace(bench.place.shell.policy, probes=probes)
    return Runtime(bench.place.snapshots.repo, replace(bench.place.shell, policy=policy),
                   bench.git.base, bench.place.clock)


def test_probes_are_asked_again_only_when_they_are_not_recent(bench: Bench) -> None:
    clock = FixedClock()
    runtime = replace(probing(bench, Probe("revision", shell("echo r7; echo more"), fresh=60)),
                      clock=clock)
    head = Head(RUN, 0, {}, "")

    first = runtime.look(head)
    clock.sleep(59)
    recent = runtime.look(replace(head, state=dict(first)))
    clock.sleep(2)
    again = runtime.look(replace(head, state=dict(recent)))

    assert first["probes"] == {"revision": {
        "result": "r7", "at": MORNING.isoformat(), "fresh": True}}
    assert recent == first
    assert entries(again["probes"]["revision"])["at"] != MORNING.isoformat()


@pytest.mark.parametrize(("line", "expect", "finding", "said"), [
    ("echo r7", "r[0-9]+", Finding.VERIFIED, "now: r7"),
    ("echo r7", "r8", Finding.FAILING, "now: r7"),
    ("echo r7; exit 1", "r7", Finding.UNKNOWN, "now: unknown: exit 1 r7"),
    ("true", ".*", Finding.FAILING, "now: "),
], ids=["so", "otherwise", "failed", "silent"])
def test_a_criterion_may_be_what_a_probe_says(
        bench: Bench, line: str, expect: str, finding: Finding, said: str) -> None:
    runtime = probing(bench, Probe("now", shell(line)))

    assert runtime.checked(ProbeCheck("now", expect)) == (finding, said)
    assert runtime.checked(ProbeCheck("none", "x"))[0] is Finding.UNKNOWN


def test_a_probe_may_get_an_address(bench: Bench) -> None:
    forge = Forge()
    forge.issue(1, "Healthy", "")
    with serving(forge) as address:
        health = Probe("health", address=f"{address}/repos/octo/demo")
        runtime = probing(bench, health)

        assert runtime.ask(health).startswith("unknown: http://127.0.0.1")  # it wants a token
        assert "401" in runtime.ask(health)
