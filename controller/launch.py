"""Opening a run: the baseline is measured before any money is spent, and version 0 is written. One
that is only planned judges a proposal, and writes nothing.
"""

from controller.asking import once
from controller.core.errors import Refused, SetupError
from controller.core.head import Head
from controller.core.opening import first_observation, first_state
from controller.core.projection import adopt
from controller.core.records import Call, Finding
from controller.core.review import reviewed
from controller.core.verdict import Verdict
from controller.loop import judge
from controller.parts import Controller


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


def plan(ctl: Controller, head: Head) -> tuple[Call, tuple[Verdict, ...]]:
    """One fresh model call for `head` and what the gates say of it. Nothing is done or written."""
    facts, heard = ctl.authority.observe(head), ctl.store.inbox.messages(head.run, head.heard)
    shown = reviewed(adopt(head, facts, heard), facts, ctl.rules)
    call = once(ctl, shown)
    try:
        return call, judge(ctl, call, shown, ctl.authority.observe(shown))[1]
    except Refused as refusal:
        return call, refusal.verdicts
