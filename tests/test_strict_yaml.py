"""What people write is read strictly, and every fault names its place."""

from importlib.resources import files
from pathlib import Path

import pytest

from controller.core.errors import SetupError
from controller.documents import schema
from controller.project import check_contract
from controller.strict_yaml import load, read

EXAMPLES = Path(str(files("contracts") / "examples"))
BAD = sorted((EXAMPLES / "bad").glob("*.yaml"))
GOOD = sorted((EXAMPLES / "good").glob("*.yaml"))


@pytest.mark.parametrize("place", GOOD, ids=lambda place: place.stem)
def test_a_good_contract_is_read(place: Path) -> None:
    assert load(place, schema("intent-contract")).value["goal"]


@pytest.mark.parametrize("place", BAD, ids=lambda place: place.stem)
def test_a_bad_contract_gets_one_clear_sentence_with_its_place(place: Path) -> None:
    expected = place.read_text().splitlines()[0].removeprefix("# expected: ")

    with pytest.raises(SetupError) as refusal:
        check_contract(load(place, schema("intent-contract")))

    (sentence,) = str(refusal.value).splitlines()
    assert sentence.startswith(f"{place}:{expected}")


def test_every_fault_is_listed_in_the_order_of_lines(tmp_path: Path) -> None:
    place = tmp_path / "contract.yaml"
    place.write_text("non_goal: []\ngoal: 3\nsuccess_criteria:\n  a: {check: {fil: x}}\n")

    with pytest.raises(SetupError) as refusal:
        load(place, schema("intent-contract"))

    assert [line.split(": ", 2)[1] for line in str(refusal.value).splitlines()] == [
        "/non_goal", "/goal", "/success_criteria/a/check/fil"]


@pytest.mark.parametrize(("text", "value"), [
    ("a: no", "no"), ("a: on", "on"), ("a: yes", "yes"), ("a: 2026-01-05", "2026-01-05"),
    ("a: 012", 12), ("a: 0o17", 15), ("a: 0x1F", 31), ("a: 1e3", 1000.0), ("a: ~", None),
    ("a:", None), ("a: True", True), ("a: '1'", "1"), ("a: 1_000", "1_000"), ("a: .5", 0.5),
    ("a: |\n  x\n  y\n", "x\ny\n"), ('{"a": [1, "b"]}', [1, "b"]), ("a: .inf", ".inf"),
    ("a: 12:30:45", "12:30:45"), ("a: -7", -7), ("a: 1.", 1.0), ("a: <<", "<<"),
])
def test_scalars_are_what_yaml_1_2_says(text: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)

    assert read(tmp_path / "a.yaml").value == {"a": value}


@pytest.mark.parametrize(("data", "message"), [
    (b"\xff\xfea: 1", "expected UTF-8"), (b"a: [1, 2", "not YAML"), (b"", "got nothing"),
    (b"a: 1\n---\nb: 2\n", "found another document"), (b"? [a]\n: 1\n", "expected a plain key"),
    (b"a: \x07", "not YAML"), (b"a: 1e999", "does not fit"),
    (b'a: "\\ud800"', "whole characters"), (b'a: "\\0"', "whole characters"),
    (b"a: " + b"9" * 30_000, "at most 20000"),
], ids=["encoding", "open-bracket", "empty", "two-documents", "odd-key", "control", "huge",
        "surrogate", "nul", "endless"])
def test_what_is_no_mapping_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(data)

    with pytest.raises(SetupError, match=message) as refusal:
        read(tmp_path / "a.yaml")

    assert str(refusal.value).startswith(str(tmp_path / "a.yaml:"))


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no such file; `oneshot init` makes one"):
        read(tmp_path / "a.yaml")
