"""Prices, as people write them and as we count them."""


def parse_price(text: str) -> int:
    """The price in cents that `text` says, such as "1,299.50" or "3"."""
    whole, _, cents = text.strip().lstrip("$").partition(".")
    return int(whole.split(",")[-1]) * 100 + int(cents or 0)


def format_price(cents: int) -> str:
    """The price as people write it, with two decimals and thousands separated."""
    return f"${cents // 100:,}.{cents % 100:02}"
