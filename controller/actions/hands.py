"""The executor: performs effects of the journal, and brings half-done ones to an end."""

from dataclasses import dataclass, replace

from controller.actions.adopt import adopt
from controller.actions.commit import commit
from controller.actions.deliver import deliver, wait
from controller.actions.edit import edit
from controller.actions.read import read
from controller.actions.recall import exposing, recall
from controller.actions.repeats import KNOWN, known
from controller.actions.search import search
from controller.actions.set_aside import foresee, set_aside
from controller.actions.workplace import CannotPerform, NeedsPerson, Workplace
from controller.commands import KEY, Ran
from controller.core.action import (
    Adopt,
    Amend,
    Ask,
    ChangeRequest,
    Command,
    Comment,
    Commit,
    Edit,
    EffectClass,
    Finish,
    Halt,
    PullRequest,
    Push,
    Read,
    Recall,
    Restore,
    Run,
    Search,
    Wait,
    identity,
)
from controller.core.canonical import digest_bytes
from controller.core.errors import MachineFault, WorldError
from controller.core.facts import Snapshot, Source
from controller.core.head import Stop, Stopped
from controller.core.observation import bounded
from controller.core.policy import Reach
from controller.core.records import Candidate, Effect, Outcome, Remains, Status
from controller.process import machine_fault

_FORCE = " (`force` runs it once more)"

_SHOWN = 10 * 1024  # bytes of a command's output that the model is shown


@dataclass(frozen=True, slots=True)
class Hands:
    """Performs actions at one workplace."""

    place: Workplace

    def perform(self, effect: Effect) -> Outcome:
        try:
            outcome = self._known(effect) or self._act(effect)
        except MachineFault:
            raise  # it is nothing that a model could answer: the effect stays open
        except (CannotPerform, WorldError, OSError) as why:
            outcome = self._failed(effect, why)
        return self._cleaned(outcome)

    def _failed(self, effect: Effect, why: Exception) -> Outcome:
        if isinstance(why, OSError) and (broken := machine_fault(why)):
            raise broken from why
        if effect.aim.effect_class is EffectClass.EXTERNAL and not isinstance(why, CannotPerform):
            raise why  # it may have happened: the effect stays open, to be asked about
        self._undo(effect)
        said = str(why).replace(f"{self.place.root}/", "")
        action = effect.candidate.transition.action
        hopeless = isinstance(action, Adopt) or isinstance(why, NeedsPerson)
        stopped = Stopped(Stop.STUCK, said) if hopeless else None
        return Outcome(Status.FAILED, said, effect.source, summary=f"failed: {said}",
                       stopped=stopped)

    def foresee(self, candidate: Candidate) -> str:
        return foresee(self.place, candidate)

    def set_aside(self, candidate: Candidate) -> str:
        return set_aside(self.place, candidate)

    def undo(self, effect: Effect, outcome: Outcome) -> Outcome:
        self._undo(effect)
        return replace(outcome, source=effect.source, agreed="")

    def resume(self, effect: Effect, remains: Remains) -> Outcome:
        """Pure: do it again. Workspace: restore the pre-snapshot exactly, then do it again.
        External: do it again only when it is known not to have happened.

        What is found is kept first under refs/oneshot/found/: it may be somebody else's work.
        """
        if effect.aim.effect_class is EffectClass.EXTERNAL and remains.happened is not False:
            return self._cleaned(self._not_again(effect, remains))
        if effect.aim.effect_class is not EffectClass.PURE:
            self.place.snapshots.keep(f"found/{effect.id}")
        self._undo(effect)
        return self.perform(effect)

    def _undo(self, effect: Effect) -> None:
        if effect.aim.effect_class is not EffectClass.PURE:
            self.place.snapshots.restore(effect.source.snapshot)

    def _not_again(self, effect: Effect, remains: Remains) -> Outcome:
        line = identity(effect.candidate.transition.action)
        if remains.happened is None:
            return Outcome(Status.UNKNOWN, f"{line}: {remains.text}", effect.source)
        return Outcome(Status.DONE, f"{line}: it had happened before the controller was "
                       f"interrupted, so it was not done again ({remains.text}). What else it said "
                       "is not known.", self._looked_at(effect), summary="it had happened already")

    def _known(self, effect: Effect) -> Outcome | None:
        again = known(self.place.trail, self.place.run, effect, self.place.tests,
                      self.place.shell.sandbox.tier)
        if again is None:
            return None
        action = effect.candidate.transition.action
        if isinstance(action, Read) and read(self.place.root, action) != again.text:
            return None  # a file that no tree has is another now
        way = _FORCE if isinstance(action, Run) else ""
        text = f"{KNOWN}{again.step}, over these very files{way}:\n{again.text}"
        return replace(_seen(effect, text, again.summary), output=again.output)

    def _act(self, effect: Effect) -> Outcome:  # noqa: PLR0911  (one return a kind)
        place, action = self.place, effect.candidate.transition.action
        match action:
            case Read():
                return _seen(effect, read(place.root, action), f"{len(action.files)} shown")
            case Search():
                text = search(place.snapshots.repo, place.shell.scratch, action)
                return _seen(effect, text, text.split("\n", 1)[0])
            case Recall():
                text = recall(place.trail, place.run, action)
                return replace(_seen(effect, text, text.split("\n", 1)[0]),
                               exposed=exposing(place.trail, place.run))
            case Ask() | ChangeRequest() | Amend() | Halt():
                return _told(effect, action)
            case Wait() | Push() | PullRequest() | Comment():
                return (wait(place, effect, action) if isinstance(action, Wait)
                        else deliver(place, effect, action))
            case Finish(result, summary):
                return _finish(effect, result, summary)
            case Edit() | Run() | Commit() | Adopt() | Restore():
                return self._change(effect, action)

    def _change(self, effect: Effect, action: Edit | Run | Commit | Adopt | Restore) -> Outcome:
        match action:
            case Edit(changes, check):
                told = edit(self.place.root, changes)
                agreed = self.place.snapshots.take().tree if effect.grant else ""
                ran = self.place.shell.run(check, self.place.root) if check else None
                return replace(self._after(effect, told, ran, check), agreed=agreed)
            case Run(command):
                return self._run(effect, command)
            case Adopt():
                text, source = adopt(self.place, effect, action)
                return Outcome(Status.DONE, text, source, summary=text.split("\n", 1)[0])
            case Restore():
                return self._restore(effect, action)
            case Commit():
                made = commit(self.place, effect, action)
                source = replace(effect.source, head=made, head_tree=effect.source.tree)
                return Outcome(Status.DONE, f"Git commit {made} on {source.branch}, delivered.",
                               source, summary=f"Git commit {made[:12]}")

    def _restore(self, effect: Effect, action: Restore) -> Outcome:
        self.place.snapshots.keep(f"found/{effect.id}")  # somebody may have worked in it
        self.place.snapshots.restore(Snapshot(action.tree, action.extras))
        why = f": {action.reason}" if action.reason else ""
        return Outcome(
            Status.DONE, f"A person has taken the run back to what it was after step {action.step}"
            f"{why}. State and worktree are as they were then; what was learned and done since is "
            "gone from them.", self._looked_at(effect), summary=f"as after step {action.step}")

    def _run(self, effect: Effect, command: Command) -> Outcome:
        external = effect.aim.effect_class is EffectClass.EXTERNAL
        if external:
            self.place.fence()
        policy = self.place.shell.policy
        listed = policy.listed(command)
        reach = listed.reach if listed else Reach(policy.network.hosts if command.network else ())
        ran = self.place.shell.run(command, self.place.root, {KEY: effect.id} if external else {},
                                   reach)
        if not ran.started and external:  # it is the only one to say so
            return Outcome(Status.UNKNOWN, f"{command} {ran.ending}", effect.source)
        if not ran.started:
            raise CannotPerform(f"{command} {ran.ending}")
        done = replace(self._after(effect, "", ran, command), exposed=bool(reach.hosts))
        if external and ran.cut_short:
            return replace(done, status=Status.UNKNOWN)
        return done

    def _after(self, effect: Effect, told: str, ran: Ran | None,
               command: Command | None) -> Outcome:
        source = self._looked_at(effect)
        text, output, summary, stopped = told, b"", told.replace("\n", ", "), None
        if ran:
            output = ran.output.encode()
            shown = bounded(ran.output.rstrip(), _SHOWN, digest_bytes(output)[:16])
            text = "\n".join(filter(None, [told, f"$ {command}", ran.ending, shown]))
            summary = "; ".join(filter(None, [summary, ran.ending]))
            stopped = Stopped(Stop.STUCK, f"{command} printed the canary token that lies in the "
                              "home folder of commands: something gathers secrets; look at the "
                              "step before you resume") if ran.canary else None
        return Outcome(Status.DONE, text, source, summary=summary, output=output, stopped=stopped)

    def _cleaned(self, outcome: Outcome) -> Outcome:
        """The funnel: nothing that hides, moves a cursor or is a secret goes on from here."""
        shell = self.place.shell
        stopped = outcome.stopped and replace(
            outcome.stopped, reason=shell.redactor.text(outcome.stopped.reason))
        return replace(outcome, text=shell.redactor.text(outcome.text), stopped=stopped,
                       summary=shell.redactor.text(outcome.summary), tier=shell.sandbox.tier)

    def _looked_at(self, effect: Effect) -> Source:
        found = self.place.snapshots.take()
        return replace(effect.source, tree=found.tree, extras=found.extras)


def _seen(effect: Effect, text: str, summary: str) -> Outcome:
    return Outcome(Status.DONE, text, effect.source, summary=summary)


def _told(effect: Effect, action: Ask | ChangeRequest | Amend | Halt) -> Outcome:
    """What is between people and the contract: nothing is done but saying so."""
    match action:
        case Halt(reason):
            return replace(_seen(effect, f"The run stood still: {reason}", "stood still"),
                           stopped=Stopped(Stop.STUCK, reason))
        case Ask(question):
            return replace(_seen(effect, f"You asked: {question}", "asked"),
                           stopped=Stopped(Stop.WAITING, question))
        case ChangeRequest(reason=reason):
            return replace(_seen(effect, f"You filed a change request: {identity(action)} "
                                 f"({reason}). The contract holds as it is.", "asked"),
                           stopped=Stopped(Stop.WAITING, identity(action)))
        case Amend(version, text):
            return _seen(effect, text, f"contract version {version}")


def _finish(effect: Effect, result: str, summary: str) -> Outcome:
    gave_up = Stopped(Stop.STUCK, f"the model gave up: {summary}")
    return replace(_seen(effect, "You asked to finish.", f"asked to finish ({result})"),
                   stopped=gave_up if result == "impossible" else None)
