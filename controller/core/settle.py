"""Which state do outcome and evidence justify? A pure function, asked once, after the fact."""

from controller.core.action import Adopt, Amend, Edit, Finish, Restore, Run
from controller.core.canonical import JsonObject
from controller.core.constraints import typed
from controller.core.head import Stop, Stopped
from controller.core.observation import bounded
from controller.core.projection import as_state, corrected, project, told
from controller.core.question import of_model
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
    broken, question = _broken(evidence), None
    if outcome.status is Status.DONE and not broken:
        state, text, before = effect.candidate.state, _told(outcome, evidence), ""
        question = of_model(effect, rules)
        if isinstance(action, Adopt | Amend):  # nobody has been asked yet
            shown = told(base, text if isinstance(action, Amend) else outcome.text)
            text, before = shown.observation, shown.before
    else:
        shown = corrected(base, _why(effect, outcome, evidence))
        state, text, before = base.state, shown.observation, shown.before
    done = None if broken else _finished(effect, outcome, evidence, rules)
    stopped = None if question and not question.stops else outcome.stopped
    return Step(effect, outcome, evidence, project(state, effect, outcome, evidence, rules), text,
                before, stopped or done, question=question)


def undoes(effect: Effect, evidence: tuple[Evidence, ...]) -> bool:
    """Whether what the action did to the worktree is to be undone: the contract forbids it."""
    action = effect.candidate.transition.action
    return isinstance(action, Run | Edit) and bool(_broken(evidence))


def _broken(evidence: tuple[Evidence, ...]) -> list[Evidence]:
    return [item for item in evidence
            if item.subject.startswith(POSTCONDITION) and item.finding is not Finding.VERIFIED]


def _why(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...]) -> str:
    details = [f"{item.subject.removeprefix(POSTCONDITION)}: {item.detail}"
               for item in _broken(evidence)]
    if undoes(effect, evidence):
        return "\n".join(["Your action was undone and your patch was not applied, because the "
                          "contract forbids what it did:", *details, outcome.text])
    return "\n".join(["Your action could not be performed, so your patch was not applied:",
                      outcome.text, *details])


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
    verified -= {item.subject for item in evidence if item.finding is not Finding.VERIFIED}
    wanted = [criterion.id for criterion in rules.contract.success_criteria]
    held = [item.id for item in rules.contract.constraints if typed(item) or item.must_pass]
    if all(id in verified for id in (*wanted, *held)):
        also = f", and {len(held)} constraints hold" if held else ""
        return Stopped(Stop.FINISHED, f"{len(wanted)} of {len(wanted)} criteria are proved{also}")
    return None
