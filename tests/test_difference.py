"""Added lines, file by file: whatever files are called and whatever stands in them."""

import os
from pathlib import Path

import pytest

from controller.checkout import create, open_checkout
from controller.core.facts import Added, Pending
from controller.difference import difference
from controller.repo import Repo

TRICKS: dict[str, bytes] = {
    "plain.txt": b"one\ntwo\n", "no-end": b"no line feed", "odd\nname": b"x\n", 'quo"te': b"y\n",
    "diff --git a/x b/x": b"z\n", "tab\there": b"t\n", "\u00fc.txt": b"u\n",
    "like-a-diff": b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +9 @@\n+plus\n", "empty": b"",
    "binary": b"\0\1\2", "crlf": b"a\r\nb\r\n",
}


@pytest.fixture
def repo(checkout: Path, tmp_path: Path) -> Repo:
    create(tmp_path / "repo.git", open_checkout(checkout))
    return Repo(tmp_path / "repo.git")


def test_every_added_line_is_found_under_its_file_and_number(repo: Repo) -> None:
    old = repo.laid_over(repo.git("mktree").decode().strip(), {"plain.txt": ("100644", b"one\n")})
    new = repo.laid_over(old, {name: ("100644", data) for name, data in TRICKS.items()
                               if "\n" not in name} | {"gone": None})

    found = difference(repo, old, new)

    wanted = {(name, number, line) for name, data in TRICKS.items() if "\n" not in name
              for number, line in enumerate(data.decode().split("\n"), 1)
              if line or number < len(data.decode().split("\n"))} - {("plain.txt", 1, "one")}
    assert {(line.path, line.number, line.text) for line in found.added} == wanted
    assert found.cut is False


@pytest.mark.parametrize(("before", "after", "seen"), [
    (("100644", b"x\n"), ("100755", b"x\n"), Pending("f", "100644", "100755")),
    (("100644", b"x\n"), ("120000", b"target"), Pending("f", "100644", "120000")),
    (("100644", b"x\n"), None, Pending("f", "100644", "000000")),
    (None, ("100644", b"x\n"), Pending("f", "000000", "100644")),
])
def test_kinds_of_files_are_told(
        repo: Repo, before: tuple[str, bytes] | None, after: tuple[str, bytes] | None,
        seen: Pending) -> None:
    nothing = repo.git("mktree").decode().strip()
    old, new = (repo.laid_over(nothing, {"f": file, "g": ("100644", text)})
                for file, text in ((before, b""), (after, b"new\n")))

    found = difference(repo, old, new)

    assert found.files[0] == seen
    assert found.added[-1] == Added("g", 1, "new")


def test_a_difference_that_is_too_long_says_so(repo: Repo) -> None:
    nothing = repo.git("mktree").decode().strip()
    new = repo.laid_over(nothing, {"big": ("100644", os.urandom(3_000_000).hex().encode())})

    assert difference(repo, nothing, new).cut is True
