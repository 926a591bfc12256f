"""What is in the basket, and what it costs."""

from dataclasses import dataclass, field


@dataclass
class Line:
    """So many of one thing, at a price in cents each."""

    price: int
    quantity: int = 1


@dataclass
class Cart:
    """The lines of a basket. A discount is in percent of the whole."""

    lines: list[Line] = field(default_factory=list)
    discount: int = 0

    def add(self, price: int, quantity: int = 1) -> None:
        """Put something in."""
        self.lines.append(Line(price, quantity))

    def total(self) -> int:
        """What the basket costs in cents, discount taken off and rounded to the nearest cent."""
        total = 0
        for line in self.lines:
            reduced = line.price * (100 - self.discount) // 100
            total += reduced * line.quantity
        return total
