"""One run with everything it needs from the world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controller.core.head import Launch
from controller.core.ports import Authority, Clock, Executor, Mailbox, Model, Store
from controller.core.rules import Rules


@dataclass(frozen=True, slots=True)
class Controller:
    """A run and its parts. `models` by their names in the configuration; `ending`: somebody wants
    this process to end after the step that it is in.
    """

    launch: Launch
    rules: Rules
    models: Mapping[str, Model]
    authority: Authority
    executor: Executor
    store: Store
    clock: Clock
    mailbox: Mailbox
    ending: Callable[[], bool] = lambda: False
