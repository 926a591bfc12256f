"""Crash points: die just before or just after any call that the loop makes to the world.

Every call of the loop to a port is two boundaries. `dying_at(n)` wraps the ports so that the n-th
boundary raises Died, which stands for `kill -9`: nothing after it happens, nothing is cleaned up.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, cast

from controller.core.head import Lease
from controller.core.ports import Authority, Executor, Model, Store
from controller.testing.world import Wrap


class Died(BaseException):
    """The process is gone."""


def die(where: str) -> None:
    """The harm that a countdown does unless it is given another."""
    raise Died(where)


@dataclass(slots=True)
class Countdown:
    """Does harm when it has been passed `left` times; counts on for ever below zero.

    `noted` hears of every boundary that is passed.
    """

    left: int
    passed: list[str] = field(default_factory=list)
    fault: Callable[[str], None] = die
    noted: Callable[[str], None] = lambda name: None

    def boundary(self, name: str) -> None:
        """Pass one boundary, or come to harm at it."""
        if self.left == len(self.passed):
            self.passed.append(name)  # whoever survives it passes it
            self.fault(name)
            return
        self.passed.append(name)
        self.noted(name)


@dataclass(frozen=True, slots=True)
class _Mortal:
    """Anything, with a boundary before and after each call of its methods."""

    inner: object
    countdown: Countdown

    def __getattr__(self, name: str) -> object:
        found = getattr(self.inner, name)
        if name == "lease":
            return lambda *args: _Kept(found(*args))
        if name == "inbox":
            return _Mortal(found, self.countdown)
        return self._mortal(name, found) if callable(found) else found

    def _mortal(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def mortal(*args: object, **kwargs: object) -> object:
            self.countdown.boundary(f"before {name}")
            result: object = call(*args, **kwargs)
            self.countdown.boundary(f"after {name}")
            return result

        return mortal


@dataclass(frozen=True, slots=True)
class _Kept:
    """A lease that stays taken when its holder dies."""

    held: AbstractContextManager[Lease]

    def __enter__(self) -> Lease:
        return self.held.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not Died:
            self.held.__exit__(kind, error, trace)


def dying_at(countdown: Countdown) -> Wrap:
    """Ports that die where the countdown says. The lease is left held, as by a dead process."""
    return Wrap(model=lambda model: cast("Model", _Mortal(model, countdown)),
                authority=lambda authority: cast("Authority", _Mortal(authority, countdown)),
                executor=lambda executor: cast("Executor", _Mortal(executor, countdown)),
                store=lambda store: cast("Store", _Mortal(store, countdown)))
