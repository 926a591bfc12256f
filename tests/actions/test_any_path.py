"""Two thousand paths that somebody made up, for real: no byte outside the worktree changes."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.actions.paths import read_bytes, there, write_bytes
from controller.actions.workplace import CannotPerform

PART = st.one_of(st.text(max_size=6), st.sampled_from([
    "..", ".", "", "~", "link", "out", "proc", "self", "root", ".git", ".GIT", "git~1", "a", "b",
    "hard", "pipe", ".g\u200cit", "-rf", "CON", "x" * 300, "a\\b", "C:", "\u202e", "é", "e\u0301"]))
PATH = st.one_of(st.lists(PART, min_size=1, max_size=5).map("/".join), st.text(max_size=30))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A worktree with every kind of way out, beside a folder that must not change."""
    top = tmp_path_factory.mktemp("ground")
    (top / "outside").mkdir()
    (top / "outside/secret").write_text("theirs")
    work = top / "work"
    (work / "a/b").mkdir(parents=True)
    (work / "link").symlink_to(top / "outside")
    (work / "out").symlink_to(top / "outside/secret")
    (work / "a/link").symlink_to("../../outside")
    (work / "proc").symlink_to("/proc")
    (work / "self").symlink_to("/proc/self/root")
    os.link(top / "outside/secret", work / "hard")
    os.mkfifo(work / "pipe")
    return work


@settings(max_examples=2_000, suppress_health_check=list(HealthCheck))
@given(PATH)
def test_no_path_leads_out_of_the_worktree(ground: Path, path: str) -> None:
    outside = ground.parent / "outside"
    for act in (lambda: write_bytes(ground, path, b"mine"), lambda: read_bytes(ground, path),
                lambda: there(ground, path)):
        try:
            seen = act()
        except (CannotPerform, FileNotFoundError):
            seen = None
        assert type(seen) is not tuple or seen[0] == b"mine"

    assert [(entry.name, entry.read_text()) for entry in outside.iterdir()] == [
        ("secret", "theirs")]
    assert {entry.name for entry in ground.parent.iterdir()} == {"outside", "work"}
