"""Opening a run: the baseline is measured before any money is spent, and version 0 is written."""

from controller.core.errors import SetupError
from controller.core.head import Head
from controller.core.opening import first_observation, first_state
from controller.core.records import Finding
from controller.loop import Controller


def launch(ctl: Controller, test_command: str | None = None) -> Head:
    """The head at version 0 of a new run.

    Raises SetupError, with the output, when a criterion can't be checked at all: a run that can
    never be proved done must not begin.
    """
    run = ctl.launch.run
    facts = ctl.authority.observe(Head(run, 0, {}, ""))
    baseline = ctl.authority.baseline(facts)
    for item in baseline:
        if item.finding is Finding.UNKNOWN:
            raise SetupError(f"the check of {item.subject} can't be run: {item.source}: "
                             f"{item.detail}")
    head = Head(run, 0, first_state(ctl.rules, facts, baseline),
                first_observation(facts, baseline, test_command),
                contract=ctl.rules.contract.version)
    ctl.store.create(ctl.launch, head, baseline)
    return head
