"""Faults, by whose they are. A *no* is a value (Verdict, Outcome), never one of these but Refused.

    ControllerError
    ├── ModelError            the model or its interface failed us
    │   ├── ModelUnavailable       no reply came; the same call may work later     exit 75
    │   ├── ModelUnusable          no reply will come until a person fixes it      exit 4
    │   └── Refused                a reply came and a gate turned it down          (stays in `step`)
    ├── WorldError            git, a command or the disk is out of reach           exit 1
    │   └── MachineFault           the disk is full or broken
    ├── StateError            the durable record disagrees with us                 exit 1
    │   ├── Damaged                the record of one run can't be read
    │   ├── StaleHead              somebody committed since we read
    │   └── LeaseLost              somebody else owns the run now                  exit 10
    └── SetupError            the person running us must fix something             exit 2
        └── NoSandbox              no sandbox can be built on this machine              exit 11
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller.core.verdict import Verdict

EXIT_CODES: dict[int, str] = {
    0: "done: every criterion is proved for the delivered Git commit",
    1: "a fault of ours or of this machine",
    2: "usage, config or contract is invalid",
    3: "stopped at a limit; `oneshot resume` goes on",
    4: "the model interface can't be used: not logged in, no key, not installed",
    5: "stuck: no progress, the same refusal again and again, or the model gave up",
    6: "finished, but a criterion is not met",
    8: "waiting for a person",
    9: "ended by a person, here; it is not proved done",
    10: "another controller holds the run",
    11: "no sandbox can be built here; nothing was run",
    70: "a bug in oneshot; a log was written",
    75: "temporary: the model could not be reached; try again later",
    129: "the terminal went away; the state is saved",
    130: "interrupted; the state is saved",
    143: "terminated; the state is saved",
}
"""What each exit code of `oneshot` means. Codes may be added; unknown non-zero means not done."""


class ControllerError(Exception):
    """The base of every fault we name."""

    exit_code = 1


class ModelError(ControllerError):
    """The model or its interface failed us."""

    exit_code = 75


class ModelUnavailable(ModelError):
    """No reply came, and the same call may work later."""


class ModelUnusable(ModelError):
    """No reply will come until a person changes something: login, key, model name, version."""

    exit_code = 4


class Refused(ModelError):
    """A reply came and a gate turned it down. Raised in `admit`, caught in `step`."""

    def __init__(self, verdicts: "tuple[Verdict, ...]") -> None:
        super().__init__("; ".join(str(verdict) for verdict in verdicts))
        self.verdicts = verdicts


class WorldError(ControllerError):
    """Git, a command or the disk is out of reach."""


class MachineFault(WorldError):
    """The disk is full or broken: no action of a model's can help, and none is to blame."""


class StateError(ControllerError):
    """The durable record disagrees with us."""


class Damaged(StateError):
    """Something in the record of one run can't be read; other runs are not concerned."""


class StaleHead(StateError):
    """Somebody committed since we read the head."""


class LeaseLost(StateError):
    """Somebody else owns the run now."""

    exit_code = 10


class SetupError(ControllerError):
    """The person running us must fix something; the message says what and where."""

    exit_code = 2


class NoSandbox(SetupError):
    """No sandbox can be built on this machine, and nobody has said that there need be none."""

    exit_code = 11
