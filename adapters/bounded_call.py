"""A limit in wall-clock time for a library call that has none of its own."""

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from controller.core.errors import ModelUnavailable

T = TypeVar("T")


def within(seconds: float, call: Callable[[], T]) -> T:
    """What `call` returns or raises. Raises ModelUnavailable when it takes longer.

    The read timeout of an HTTP client starts anew with every byte, so a slow drip defeats it. A
    call that is given up goes on in its thread until the socket times out; its result is dropped.
    """
    done: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

    def work() -> None:
        try:
            done.put((call(), None))
        except BaseException as fault:  # noqa: BLE001  (handed to the caller's thread whole)
            done.put((None, fault))

    threading.Thread(target=work, daemon=True).start()
    try:
        result, fault = done.get(timeout=seconds)
    except queue.Empty:
        raise ModelUnavailable(f"no whole answer came within {seconds:.0f} s") from None
    if fault is not None:
        raise fault
    return result  # type: ignore[return-value]  # no fault: `work` put what `call` returned
