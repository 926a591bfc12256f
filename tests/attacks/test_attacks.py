"""Every case of cases.jsonl, tried for real in each tier: its verdict, nothing out, nobody left."""

from pathlib import Path

import pytest

from controller.core.tier import Tier
from controller.sandbox.choice import Sandbox
from tests.attacks.matrix import CASES, read_cases
from tests.attacks.steps import Case
from tests.attacks.trial import Seen, tried

TRIED = read_cases(CASES)


@pytest.mark.parametrize("tier", [Tier.BUBBLEWRAP, Tier.LANDLOCK])
@pytest.mark.parametrize("case", TRIED, ids=[case["id"] for case in TRIED])
def test_a_case_gets_its_verdict(
        case: Case, tier: Tier, tmp_path: Path, sandboxes: dict[Tier, Sandbox]) -> None:
    seen = tried(case, sandboxes[tier], tmp_path / "arena")

    assert seen.right(case, tier), seen


@pytest.mark.parametrize(("case", "harm"), [
    ({"id": "X", "area": "action", "verdict": "contained", "action": {
        "type": "run", "cmd": "echo x > $VICTIM/outside; sleep 300 & setsid sleep 300 &"}},
     "something outside the worktree has changed"),
    ({"id": "Y", "area": "network", "verdict": "contained", "action": {
        "type": "run", "cmd": "exec 3<>/dev/tcp/127.0.0.1/$PORT"}},
     "a server of this machine was reached"),
], ids=["writes", "connects"])
def test_the_trial_sees_what_gets_out_where_there_are_no_walls(
        case: Case, harm: str, tmp_path: Path) -> None:
    action = dict(case["action"])
    action["cmd"] = action["cmd"].replace("$VICTIM", str(tmp_path / "arena/user/home"))

    seen = tried({**case, "action": action}, Sandbox(Tier.NONE), tmp_path / "arena")

    assert harm in seen.harm
    assert seen.survivors == 0  # the supervisor ends the tree even without walls
    assert not seen.right(case, Tier.NONE)


@pytest.mark.parametrize("verdict", ["reject", "needs_approval"])
def test_a_wrong_verdict_is_wrong(verdict: str) -> None:
    assert not Seen("contained").right({"verdict": verdict}, Tier.BUBBLEWRAP)
    assert not Seen("parked").right({"verdict": "allow"}, Tier.BUBBLEWRAP)
