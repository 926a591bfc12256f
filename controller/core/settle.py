"""Which state do outcome and evidence justify? A pure function, asked once, after the fact."""

from controller.core.action import Adopt, Amend, Edit, Finish, Restore, Run, identity
from controller.core.canonical import JsonObject, canonical, entries
from controller.core.constraints import typed
from controller.core.eviction import aged
from controller.core.evidence import evidence_id
from controller.core.head import Stop, Stopped, Turn
from controller.core.observation import bounded, first_line
from controller.core.progress import nudge
from controller.core.projection import as_state, corrected, project, told
from controller.core.question import of_model
from controller.core.records import POSTCONDITION, Effect, Evidence, Finding, Outcome, Status, Step
from controller.core.review import sources
from controller.core.rules import CONTROLLER, DUAL, OPTIMISTIC, Rules
from controller.core.turns import after_effect


def settle(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...], rules: Rules) -> Step:
    """The step that an effect came to. Staged commit: the patch is as good as its action.

    Unless the action was done and every postcondition holds, the base state stands and the next
    call reads why, with the observation that this one had been shown. The domain may choose for an
    effect class that the patch stands all the same (optimistic, as in the paper).
    """
    base, action = effect.candidate.base, effect.candidate.transition.action
    if isinstance(action, Restore) and outcome.status is Status.DONE:
        return _restored(effect, outcome, action)
    broken, question = _broken(evidence), None
    done_so = outcome.status is Status.DONE and not broken
    if done_so:
        state, text, before = effect.candidate.state, _told(outcome, evidence), ""
        question = of_model(effect, rules)
        if isinstance(action, Adopt | Amend):  # nobody has been asked yet
            shown = told(base, text if isinstance(action, Amend) else outcome.text)
            text, before = shown.observation, shown.before
    else:
        shown = corrected(base, _why(effect, outcome, evidence, rules))
        state, text, before = base.state, shown.observation, shown.before
    kept = done_so or (rules.semantics(effect.aim.effect_class) == OPTIMISTIC
                       and not undoes(effect, evidence))
    gone = effect.candidate.evicted if kept else {}
    after = project(effect.candidate.state if kept else state, effect, outcome, evidence, rules,
                    gone)
    status = Status.FAILED if broken else outcome.status
    done = None if broken else _finished(effect, outcome, evidence, rules)
    stopped = None if question and not question.stops else outcome.stopped
    turns = after_effect(effect, outcome, evidence, after, rules)
    return Step(effect, outcome, evidence, desired(after, effect, status, rules),
                _with_word(text, turns), before, stopped or done, question=question, evicted=gone,
                marks=_marks(effect, rules) if kept else base.marks, turns=turns)


def _with_word(text: str, turns: tuple[Turn, ...]) -> str:
    """What is told, with a word about the lack of progress before it, if there is one to say."""
    word = nudge(turns)
    return bounded(f"{word}\n\n{text}") if word else text


def desired(state: JsonObject, effect: Effect, status: Status, rules: Rules) -> JsonObject:
    """The state with what an action was to bring about beside what is confirmed: commit semantics
    `dual`, where nothing that happens elsewhere is taken for so before an authority says it.
    """
    dual = rules.semantics(effect.aim.effect_class) == DUAL
    if not dual or rules.owners.get("desired") != CONTROLLER:
        return state
    if status is Status.DONE:
        return {**state, "desired": {}}
    transition = effect.candidate.transition
    return {**state, "desired": {
        "action": first_line(identity(transition.action)), "outcome": status.value,
        "patch": canonical(transition.patch).decode()[:1000]}}


def _marks(effect: Effect, rules: Rules) -> JsonObject:
    """What is kept about entries of the state beside it, after this step's patch."""
    candidate = effect.candidate
    base = candidate.base
    return {
        "ages": aged(entries(base.marks.get("ages")), candidate.laid, candidate.state,
                     base.version + 1, rules),
        "sources": sources(entries(base.marks.get("sources")), candidate.laid, candidate.state,
                           candidate.tree)}


def undoes(effect: Effect, evidence: tuple[Evidence, ...]) -> bool:
    """Whether what the action did to the worktree is to be undone: the contract forbids it."""
    action = effect.candidate.transition.action
    return isinstance(action, Run | Edit) and bool(_broken(evidence))


def _broken(evidence: tuple[Evidence, ...]) -> list[Evidence]:
    return [item for item in evidence
            if item.subject.startswith(POSTCONDITION) and item.finding is not Finding.VERIFIED]


def _why(effect: Effect, outcome: Outcome, evidence: tuple[Evidence, ...],
         rules: Rules) -> str:
    details = [f"{item.subject.removeprefix(POSTCONDITION)}: {item.detail}"
               for item in _broken(evidence)]
    if undoes(effect, evidence):
        return "\n".join(["Your action was undone and your patch was not applied, because the "
                          "contract forbids what it did:", *details, outcome.text])
    if rules.semantics(effect.aim.effect_class) == OPTIMISTIC:
        return "\n".join(["Your action could not be performed; your patch was applied all the "
                          "same:", outcome.text, *details])
    return "\n".join(["Your action could not be performed, so your patch was not applied:",
                      outcome.text, *details])


def _restored(effect: Effect, outcome: Outcome, action: Restore) -> Step:
    """State and observation as they were; what Git says now is what counts."""
    state: JsonObject = {**action.state, "source_authority": as_state(outcome.source, action.state),
                         "budget": effect.candidate.base.state.get("budget")}
    return Step(effect, outcome, (), state, outcome.text, action.observation, heard=action.heard,
                marks={"ages": entries(effect.candidate.base.marks.get("ages")),
                       "sources": sources({}, {}, state, action.tree)})


def _told(outcome: Outcome, evidence: tuple[Evidence, ...]) -> str:
    """What was done, and of a finish that was turned down how it stands with each criterion."""
    about = [f"- {item.subject}: {_word(item)} ({item.source}; {evidence_id(item)})\n"
             f"{item.detail}".rstrip()
             for item in evidence if not item.subject.startswith(POSTCONDITION)]
    if not about:
        return bounded(outcome.text)
    return bounded("\n".join([outcome.text, "What the checks say of your Git commit:", *about]))


def _word(item: Evidence) -> str:
    asked = item.authority == "person" and item.finding is Finding.FAILING
    return "needs a person" if asked else item.finding.value


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
        also = f"; constraints that hold: {len(held)}" if held else ""
        return Stopped(Stop.FINISHED, f"{len(wanted)} of {len(wanted)} criteria are proved{also}")
    return None
