"""What an effect is going to touch, and what is to hold after it: journalled before it is begun."""

from dataclasses import dataclass

from controller.core.action import (
    Action,
    Adopt,
    Amend,
    Ask,
    ChangeRequest,
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
    touched,
)
from controller.core.facts import Source
from controller.core.observation import quoted
from controller.core.policy import Policy

_NAMED = 20  # files that the target of an edit names


@dataclass(frozen=True, slots=True)
class Aim:
    """The effect class, the target and the expected postcondition of an effect, for people too."""

    effect_class: EffectClass
    target: str = ""
    expected: str = ""


def aim(  # noqa: C901, PLR0911  (one return a kind)
        action: Action, source: Source, policy: Policy) -> Aim:
    """What the action aims at, over what Git says now.

    Ours to say, never the model's, and never read from a command line: a command changes something
    outside the worktree when the user has listed it, word for word.
    """
    match action:
        case (Read() | Search() | Recall() | Ask() | ChangeRequest() | Wait() | Finish()
              | Amend() | Halt()):
            return Aim(EffectClass.PURE)
        case Edit():
            named = ", ".join(map(quoted, dict.fromkeys(touched(action)[:_NAMED])))
            return Aim(EffectClass.WORKSPACE, named, "the files hold what the edit says")
        case Commit():
            return Aim(EffectClass.WORKSPACE, f"refs/heads/{source.branch}",
                       f"it is at a Git commit of tree {source.tree}")
        case Push():
            return Aim(EffectClass.EXTERNAL, f"refs/heads/{source.branch} of the forge",
                       f"it is at {source.head}")
        case PullRequest():
            return Aim(EffectClass.EXTERNAL, f"the pull request of {source.branch}",
                       "its text has the key of this effect")
        case Comment(on=on):
            return Aim(EffectClass.EXTERNAL, f"the comments of the {on.replace('_', ' ')}",
                       "one of them has the key of this effect")
        case Restore(step):
            return Aim(EffectClass.WORKSPACE, "the worktree", f"it is as it was after step {step}")
        case Adopt(commit):
            return Aim(EffectClass.WORKSPACE, "the worktree", f"it has the changes of {commit}")
        case Run(command):
            listed = policy.listed(command)
            if listed is None:
                return Aim(EffectClass.WORKSPACE, "the worktree", "the command has ended")
            return Aim(EffectClass.EXTERNAL, str(command),
                       f"{listed.probe} exits with 0" if listed.probe else "nobody can tell")
