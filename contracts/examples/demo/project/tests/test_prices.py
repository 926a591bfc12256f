import pytest

from basket.prices import format_price, parse_price


@pytest.mark.parametrize(("text", "cents"), [
    ("3", 300),
    ("$12.50", 1250),
    ("12.5", 1250),
    ("1,299.50", 129950),
    ("1,000,000", 100000000),
])
def test_parse_price(text, cents):
    assert parse_price(text) == cents


def test_a_price_survives_formatting_and_parsing():
    assert parse_price(format_price(123456)) == 123456
