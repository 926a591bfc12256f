"""Which state do outcome and evidence justify? A pure function, asked once, after the fact."""

from controller.core.action import Adopt, Finish, Restore
from controller.core.canonical import JsonObject
from controller.core.head import Stop, Stopped
from controller.core.observation import bounded
from controller.core.projection import as_state, corrected, project, told
from controller.core.records import POSTCONDITION, Effect, Evidence, Finding, Outcome, Status, Step
from controller.core.rules import Rules


def settle(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...], rules: Rules) -> Step:
    """The step that an effect came to (staged commit: the patch is as good as its action).

    Unless the action was done and every postcondition holds, the base state stands and the next
    call reads why, with the observation that this one had been shown.
    """
    base, action = effect.candidate.base, effect.candidate.transition.action
    if isinstance(action, Restore) and outcome.status is Status.DONE:
        return _restored(effect, outcome, action)
    broken = [item for item in evidence
              if item.subject.startswith(POSTCONDITION) and item.finding is not Finding.VERIFIED]
    if outcome.status is Status.DONE and not broken:
        state, text, before = effect.candidate.state, _told(outcome, evidence), ""
        if isinstance(action, Adopt):  # nobody has been asked yet
            shown = told(base, outcome.text)
            text, before = shown.observation, shown.before
    else:
        why = "\n".join([outcome.text, *(item.detail for item in broken)])
        shown = corrected(
            base, f"Your action could not be performed, so your patch was not applied:\n{why}")
        state, text, before = base.state, shown.observation, shown.before
    done = None if broken else _finished(effect, outcome, evidence, rules)
    return Step(effect, outcome, evidence, project(state, effect, outcome, evidence, rules), text,
                before, outcome.stopped or done)


def _restored(effect: Effect, outcome: Outcome, action: Restore) -> Step:
    """State and observation as they were; what Git says now is what counts."""
    state: JsonObject = {**action.state, "source_authority": as_state(outcome.source),
                         "budget": effect.candidate.base.state.get("budget")}
    return Step(effect, outcome, (), state, outcome.text, action.observation, heard=action.heard)


def _told(outcome: Outcome, evidence: tuple[Evidence, ...]) -> str:
    about = [f"- {item.subject}: {item.finding.value} ({item.source})\n{item.detail}".rstrip()
             for item in evidence if not item.subject.startswith(POSTCONDITION)]
    if not about:
        return bounded(outcome.text)
    return bounded("\n".join([outcome.text, "What the checks say of your Git commit:", *about]))


def _finished(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...],
              rules: Rules) -> Stopped | None:
    """Done is proved: only by a `finish` whose every criterion the authorities have verified, in
    the very tree of the Git commit that the branch is at.
    """
    if not isinstance(effect.candidate.transition.action, Finish):
        return None
    verified = {item.subject for item in evidence if item.finding is Finding.VERIFIED
                and item.tree == outcome.source.head_tree}
    wanted = [criterion.id for criterion in rules.contract.success_criteria]
    if all(id in verified for id in wanted):
        return Stopped(Stop.FINISHED, f"{len(wanted)} of {len(wanted)} criteria are proved")
    return None
