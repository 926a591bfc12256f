"""One run as its forge has it: its branch there, its pull request, what its effects have written.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller.core.action import Comment, Delivery, PullRequest, Push
from controller.core.canonical import JsonObject, entries
from controller.core.config import ForgeConfig
from controller.core.delivery import Pull, Thread, keys, marked
from controller.core.head import RunId
from controller.core.hosted import OPEN, Check, State
from controller.core.observation import bounded
from controller.core.records import Effect
from controller.core.redact import Redactor
from controller.forge import Forge
from controller.forge.remote import Remote
from controller.web import Unreachable

_LOG = 4000  # bytes of a failed check's log that the model is shown
_LOGS = 3  # failed checks whose logs are shown


@dataclass(frozen=True, slots=True)
class Outside:
    """What is asked of a forge, and written to it, for one run on `branch`."""

    run: RunId
    branch: str
    forge: Forge
    remote: Remote
    config: ForgeConfig
    redactor: Redactor

    @property
    def pull(self) -> Pull | None:
        """The open pull request of the branch, or the last one. Raises Unreachable."""
        return next(iter(self.forge.pulls(self.branch)), None)

    def written(self, effect: Effect) -> str:
        """Where what an effect writes can be seen; empty when it is not there. Raises Unreachable.
        """
        match effect.candidate.transition.action:
            case Push():
                there = self.remote.at(self.branch)
                return f"{self.branch} at {there}" if there == effect.source.head else ""
            case PullRequest():
                return next((pull.url for pull in self.forge.pulls(self.branch)
                             if effect.id in keys(pull.body)), "")
            case Comment(on=on):
                thread = self.thread(on)
                hit = any(effect.id in keys(body) for body in self.forge.comments(thread))
                return f"{thread.kind.replace('_', ' ')} {thread.number}" if hit else ""
            case _:
                raise ValueError("BUG: it is no delivery")

    def write(self, effect: Effect, action: Delivery) -> str:
        """Bring an effect about: where it can be seen. Raises Rejected, Unreachable."""
        match action:
            case Push():
                self.remote.push(self.branch, effect.source.head)
                return f"{self.branch} at {effect.source.head}"
            case PullRequest(title, body, draft):
                text = marked(body, effect.id, self.run)
                there = self.pull
                if there and there.open:
                    return self.forge.edit_pull(there.number, title, text).url
                return self.forge.open_pull(self.branch, self.config.base, title, text,
                                            draft=draft).url
            case Comment(body, on):
                return self.forge.comment(self.thread(on), marked(body, effect.id, self.run))

    def thread(self, on: str) -> Thread:
        """Where comments go. Raises Unreachable when there is no such thread."""
        if on == "issue" and self.config.issue is not None:
            return Thread("issue", self.config.issue)
        there = self.pull if on == "pull_request" else None
        if there is None:
            raise Unreachable("there is no pull request of this branch yet")
        return Thread("pull_request", there.number)

    def told(self, checks: Iterable[Check]) -> str:
        """Checks as the model is shown them: a line each, and the logs of those that failed."""
        listed = list(checks)
        lines = [f"- {check.name}: {check.state.value}" for check in listed]
        return "\n".join([*lines, *self._logs(listed)])

    def _logs(self, checks: list[Check]) -> Iterator[str]:
        failed = [check for check in checks if check.state in (State.FAILURE, State.TIMED_OUT)]
        for check in failed[:_LOGS]:
            try:
                log = self.redactor.clean(self.forge.log(check).encode())
            except Unreachable as why:
                log = f"(its log can't be had: {why})"
            if log.strip():
                yield f"The log of {check.name}:\n{bounded(log.rstrip(), _LOG)}"


def last_words(checks: Iterable[Check], commit: str) -> tuple[Check, ...]:
    """The newest attempt of every check of a Git commit, by name and app."""
    found: dict[tuple[str, str], Check] = {}
    for check in sorted(checks, key=lambda check: (check.order, check.id)):
        if check.commit == commit:
            found[check.name, check.app] = check
    return tuple(found[at] for at in sorted(found))


def ended(checks: Iterable[Check]) -> bool:
    """Whether none of them has a word left to say."""
    return all(check.state not in OPEN for check in checks)


def pushed(state: JsonObject) -> str:
    """The Git commit that a state says was pushed; empty when none was."""
    return str(entries(state.get("delivery")).get("pushed") or "")
