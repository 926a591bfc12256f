"""No forgery closes a criterion; `scripts/forgery_matrix` tries all of them, this one of a kind."""

from pathlib import Path

import pytest

from tests.forgery.corpus import FORGERIES, Forgery
from tests.forgery.matrix import HONEST, Row, tried

KINDS = {item.kind.partition(":")[0]: item for item in FORGERIES if item.runner == "pytest"}


@pytest.mark.parametrize("forgery", KINDS.values(), ids=KINDS)
def test_a_forgery_of_any_kind_closes_nothing(forgery: Forgery, tmp_path: Path) -> None:
    assert not tried(tmp_path, forgery).closed


@pytest.mark.parametrize("fix", HONEST, ids=lambda fix: fix.id)
def test_the_honest_fix_closes_it(fix: Forgery, tmp_path: Path) -> None:
    assert tried(tmp_path, fix) == Row(fix, "CLOSED", True, "CLOSED")
