"""Toys for a world in memory: a worktree in a dictionary, and a model, an executor and an authority
that do and say what a test tells them to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from controller.core.action import (
    Adopt,
    Amend,
    Ask,
    ChangeRequest,
    Commit,
    EffectClass,
    Finish,
    Halt,
    Own,
    Restore,
    Run,
    identity,
)
from controller.core.canonical import JsonObject, canonical, digest
from controller.core.drift import Drift
from controller.core.facts import Facts, Source
from controller.core.head import Head, Stop, Stopped
from controller.core.miss import Broken, Miss
from controller.core.ports import Clock
from controller.core.records import (
    POSTCONDITION,
    Candidate,
    Effect,
    Evidence,
    Finding,
    Outcome,
    Prompt,
    Remains,
    Reply,
    Status,
    Usage,
)
from controller.core.verdict import Verdict, judged


@dataclass(slots=True)
class Files:
    """The toy worktree and its toy Git: trees are digests of the files."""

    now: dict[str, str] = field(default_factory=lambda: {"app.py": "broken"})
    trees: dict[str, dict[str, str]] = field(default_factory=dict)
    branch: list[str] = field(default_factory=list)  # trees of the Git commits, oldest first
    writes: list[str] = field(default_factory=list)  # every change ever made, in order
    outside: list[str] = field(default_factory=list)  # keys of what happened elsewhere, in order
    theirs: str = ""  # tree of a Git commit that somebody else has moved the branch to

    def __post_init__(self) -> None:
        self.branch.append(self.take())

    def take(self) -> str:
        """The tree that the files are now."""
        tree = digest(cast("JsonObject", self.now))[:12]  # a mapping of texts
        self.trees[tree] = dict(self.now)
        return tree

    def source(self) -> Source:
        """What Git would say."""
        base, last = self.branch[0], self.branch[-1]
        return Source("oneshot/run-1", base, last, last, self.take())


@dataclass(slots=True)
class ScriptedModel:
    """A model that says what a test tells it to, in order, and keeps every prompt."""

    answers: list[Callable[[Prompt], Reply | Miss]] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    while_thinking: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        return "scripted"

    def propose(self, prompt: Prompt) -> Reply | Miss:
        self.prompts.append(prompt)
        self.while_thinking()
        if prompt.step >= len(self.answers):
            return Miss(Broken(), "the test has told the model no more")
        return self.answers[prompt.step](prompt)

    def replies(self, action: JsonObject, patch: Mapping[str, Any] | None = None,
                version: int | None = None, reasoning: str = "") -> None:
        """Answer the next step with this transition, for the version shown unless one is given."""
        def answer(prompt: Prompt) -> Reply:
            return Reply(canonical({
                "reasoning": reasoning, "action": action, "state_patch": dict(patch or {}),
                "expected_version": prompt.version if version is None else version,
            }), Usage(input=10, output=5, usd=0.01))

        self.answers.append(answer)

    def says(self, body: bytes) -> None:
        """Answer the next step with these bytes."""
        self.answers.append(lambda _: Reply(body))


@dataclass(slots=True)
class ToyExecutor:
    """Performs effects on the toy worktree, by the rules of their effect class."""

    files: Files

    def perform(self, effect: Effect) -> Outcome:
        action = effect.candidate.transition.action
        match action:
            case Run(line):
                return self._run(effect, str(line))
            case Commit():
                if self.files.branch[-1] != effect.source.tree:
                    self.files.branch.append(effect.source.tree)
                return self._seen("committed", "committed")
            case Ask() | ChangeRequest():
                return replace(self._seen("asked", "asked"),
                               stopped=Stopped(Stop.WAITING, identity(action)))
            case Restore() | Adopt() | Amend() | Halt():
                return self._own(action)
            case Finish("impossible", summary):
                return replace(self._seen("gave up", "gave up"),
                               stopped=Stopped(Stop.STUCK, summary))
            case _:
                return self._seen(f"did {type(action).__name__}", "done")

    def foresee(self, candidate: Candidate) -> str:
        return ""

    def undo(self, effect: Effect, outcome: Outcome) -> Outcome:
        self.files.now = dict(self.files.trees[effect.source.tree])
        return replace(outcome, source=effect.source)

    def set_aside(self, candidate: Candidate) -> str:
        return f"refs/oneshot/parked/{candidate.base.spent.steps + 1}"

    def _own(self, action: Own) -> Outcome:
        match action:
            case Restore(step):
                self.files.now = dict(self.files.trees[action.tree])
                return self._seen(f"taken back to step {step}", "restored")
            case Adopt(commit):
                self.files.now = {**self.files.now, **self.files.trees[commit]}
                if self.files.branch[-1] != commit:
                    self.files.branch.append(commit)
                return self._seen("Drift (branch): somebody has moved it.", "adopted")
            case Amend(version, text):
                return self._seen(text, f"contract version {version}")
            case Halt(reason):
                return replace(self._seen("stood still", "stood still"),
                               stopped=Stopped(Stop.STUCK, reason))

    def resume(self, effect: Effect, remains: Remains) -> Outcome:
        if effect.aim.effect_class is EffectClass.EXTERNAL and remains.happened is not False:
            if remains.happened is None:
                return Outcome(Status.UNKNOWN, remains.text, effect.source)
            line = str(cast("Run", effect.candidate.transition.action).command)  # it is external
            return self._seen(f"$ {line}", f"ran {line}")
        if effect.aim.effect_class is not EffectClass.PURE:
            self.files.now = dict(self.files.trees[effect.source.tree])
        return self.perform(effect)

    def _run(self, effect: Effect, line: str) -> Outcome:
        words = line.split()
        if words[0] == "fail":
            return Outcome(Status.FAILED, "there is no such program", effect.source)
        if words[0] == "doubt":
            return Outcome(Status.UNKNOWN, "the line went dead", effect.source)
        if words[0] == "deploy":
            self.files.outside.append(effect.id)
        if words[0] == "write":
            self.files.now[words[1]] = self.files.now.get(words[1], "") + words[2]
            self.files.writes.append(line)
        return self._seen(f"$ {line}", f"ran {line}")

    def _seen(self, text: str, summary: str) -> Outcome:
        return Outcome(Status.DONE, text, self.files.source(), summary=summary)


@dataclass(slots=True)
class ToyAuthority:
    """Says what the toy worktree holds, and of criteria what a test tells it to."""

    files: Files
    clock: Clock
    findings: dict[str, Finding] = field(default_factory=lambda: {"green": Finding.FAILING})
    postcondition: Finding = Finding.VERIFIED
    blind: bool = False  # to what happened elsewhere
    forbidden: str = ""  # a file that the contract does not allow
    drift: tuple[Drift, ...] = ()  # what is another elsewhere, until a test says otherwise
    seen: dict[str, JsonObject] = field(default_factory=dict)

    def observe(self, head: Head) -> Facts:
        source = self.files.source()
        known = head.state.get("source_authority")
        moved = isinstance(known, dict) and known["tree"] != source.tree
        files_drift = (Drift("worktree", "somebody changed files."),)
        return Facts(self.clock.now(), source, frozenset(self.files.trees[source.base]),
                     drift=(*self.drift, *files_drift) if moved else self.drift, seen=self.seen,
                     moved="" if self.files.theirs in self.files.branch else self.files.theirs)

    def vet(self, candidate: Candidate, foresee: Callable[[Candidate], str]) -> Verdict:
        return judged("constraints", ())

    def examine(self, effect: Effect) -> Remains:
        if effect.aim.effect_class is not EffectClass.EXTERNAL or self.blind:
            return Remains(None, "nobody can tell")
        return Remains(effect.id in self.files.outside, "the probe has looked")

    def baseline(self, facts: Facts) -> tuple[Evidence, ...]:
        return self._criteria(facts.source.tree)

    def attest(self, effect: Effect, outcome: Outcome) -> tuple[Evidence, ...]:
        match effect.candidate.transition.action:
            case Finish("done"):
                return self._criteria(outcome.source.head_tree)
            case Amend():
                return self._criteria(effect.source.base)
            case Run() if self.forbidden in self.files.trees[outcome.source.tree]:
                return (Evidence(
                    POSTCONDITION + "constraint-1", Finding.FAILING, "git", "the tree",
                    outcome.source.tree, self.clock.now(),
                    f"the contract forbids to change {self.forbidden}"),)
            case Commit():
                return (Evidence(
                    POSTCONDITION + "delivered", self.postcondition, "git", "the branch",
                    outcome.source.tree, self.clock.now(), "the branch has moved"),)
            case _:
                return ()

    def _criteria(self, tree: str) -> tuple[Evidence, ...]:
        return tuple(Evidence(id, finding, "ci", "pytest", tree, self.clock.now(), finding.value)
                     for id, finding in self.findings.items())
