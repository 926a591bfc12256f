"""The issue: told once, watched, and never taken for the user's word."""

from pathlib import Path

from controller.authorities.issue import IssueFile
from controller.core.canonical import JsonObject
from controller.core.head import Head
from controller.core.redact import Redactor
from controller.testing.world import RUN


def look(place: IssueFile, state: JsonObject) -> tuple[JsonObject, list[tuple[bool, str]], bool]:
    seen = place.look(Head(RUN, 0, state, ""))
    return seen.fields["issue"], [(item.news, item.text) for item in seen.drift], seen.exposed


def test_an_issue_in_a_file_is_told_once_and_watched(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text("Say hello.\n")
    place = IssueFile(tmp_path, "issue.md", Redactor())

    field, told, outside = look(place, {"issue": {}})
    same = look(place, {"issue": field})
    (tmp_path / "issue.md").write_text("Say \x1b[31mgood-bye.\n")
    now, changed, _ = look(place, {"issue": field})
    (tmp_path / "issue.md").unlink()
    _, gone, _ = look(place, {"issue": now})

    assert (told, outside) == ([(True, "issue.md (a file) says:\nSay hello.")], True)
    assert same == (field, [], False)
    assert changed == [(False, "issue.md was changed; it is a file and says now:\nSay good-bye.")]
    assert gone[0][1].startswith("issue.md was changed; it is gone")


def test_what_the_user_vouches_for_is_not_from_outside(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text("Say hello.")

    place = IssueFile(tmp_path, "issue.md", Redactor(), trusted=True)

    assert look(place, {"issue": {}})[2] is False
