"""Which state do outcome and evidence justify? A pure function, asked once, after the fact."""

from controller.core.action import Finish
from controller.core.head import Stop, Stopped
from controller.core.observation import bounded
from controller.core.projection import corrected, project
from controller.core.records import POSTCONDITION, Effect, Evidence, Finding, Outcome, Status, Step
from controller.core.rules import Rules


def settle(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...], rules: Rules) -> Step:
    """The step that an effect came to (staged commit: the patch is as good as its action).

    Unless the action was done and every postcondition holds, the base state stands and the next
    call reads why, with the observation that this one had been shown.
    """
    base = effect.candidate.base
    broken = [item for item in evidence
              if item.subject.startswith(POSTCONDITION) and item.finding is not Finding.VERIFIED]
    if outcome.status is Status.DONE and not broken:
        state, text, before = effect.candidate.state, _told(outcome, evidence), ""
    else:
        why = "\n".join([outcome.text, *(item.detail for item in broken)])
        told = corrected(
            base, f"Your action could not be performed, so your patch was not applied:\n{why}")
        state, text, before = base.state, told.observation, told.before
    return Step(effect, outcome, evidence, project(state, effect, outcome, evidence, rules), text,
                before, outcome.stopped or (None if broken else _finished(effect, evidence, rules)))


def _told(outcome: Outcome, evidence: tuple[Evidence, ...]) -> str:
    about = [f"- {item.subject}: {item.finding.value} ({item.source})\n{item.detail}".rstrip()
             for item in evidence if not item.subject.startswith(POSTCONDITION)]
    if not about:
        return bounded(outcome.text)
    return bounded("\n".join([outcome.text, "What the checks say of your Git commit:", *about]))


def _finished(effect: Effect, evidence: tuple[Evidence, ...], rules: Rules) -> Stopped | None:
    """Done is proved: only by a `finish` whose every criterion the authorities have verified."""
    if not isinstance(effect.candidate.transition.action, Finish):
        return None
    verified = {item.subject for item in evidence if item.finding is Finding.VERIFIED}
    wanted = [criterion.id for criterion in rules.contract.success_criteria]
    if all(id in verified for id in wanted):
        return Stopped(Stop.FINISHED, f"{len(wanted)} of {len(wanted)} criteria are proved")
    return None
