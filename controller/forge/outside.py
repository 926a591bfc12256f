"""One run as its forge has it: its branch there, its pull request, what its effects have written.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller.core.action import Comment, Delivery, PullRequest, Push
from controller.core.config import ForgeConfig
from controller.core.delivery import Pull, Thread, keys, marked
from controller.core.head import RunId
from controller.core.hosted import OWN, Check, State
from controller.core.observation import bounded, first_line
from controller.core.records import Effect
from controller.core.redact import Redactor
from controller.forge import Forge
from controller.forge.remote import Rejected, Remote
from controller.web import Unreachable

_LOG = 4000  # bytes of a failed check's log that the model is shown
_READ = 64 * 1024  # characters of its end that are looked at
_LOGS = 3  # failed checks whose logs are shown
_LISTED = 60  # checks that are told
_NAME = 80  # characters of a check's name


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
        """Where what an effect writes can be seen; empty when it is not there. Raises Unreachable,
        also when the world can't say.
        """
        match effect.candidate.transition.action:
            case Push():
                there = self.remote.at(self.branch)
                if there and not self.remote.leads(there, effect.source.head):
                    raise Unreachable(f"{self.branch} is at {there} there, which this run does not "
                                      "have: it may stand on what was pushed")
                return f"{self.branch} at {there}" if there == effect.source.head else ""
            case PullRequest():
                return next((pull.url for pull in self.forge.pulls(self.branch)
                             if effect.id in keys(pull.body)), "")
            case Comment(on=on):
                thread = self.thread(on, self.pull if on == "pull_request" else None)
                hit = thread and any(
                    effect.id in keys(body) for body in self.forge.comments(thread))
                return f"{thread.kind.replace('_', ' ')} {thread.number}" if thread and hit else ""
            case _:
                raise ValueError("BUG: it is no delivery")

    def write(self, effect: Effect, action: Delivery) -> str:
        """Bring an effect about: where it can be seen. Raises Rejected when it certainly was not,
        Unreachable when that can't be told.
        """
        match action:
            case Push():
                self.remote.push(self.branch, effect.source.head)
                return f"{self.branch} at {effect.source.head}"
            case PullRequest(title, body, draft):
                text = marked(body, effect.id, self.run)
                there = self._before()
                if there and there.open:
                    return self.forge.edit_pull(there.number, title, text, draft=draft).url
                return self.forge.open_pull(self.branch, self.config.base, title, text,
                                            draft=draft).url
            case Comment(body, on):
                thread = self.thread(on, self._before() if on == "pull_request" else None)
                if thread is None:
                    raise Rejected("there is no pull request of this branch yet")
                return self.forge.comment(thread, marked(body, effect.id, self.run))

    def thread(self, on: str, pull: Pull | None) -> Thread | None:
        """Where comments go; None when there is no such thread."""
        if on == "issue" and self.config.issue is not None:
            return Thread("issue", self.config.issue)
        return Thread("pull_request", pull.number) if pull else None

    def _before(self) -> Pull | None:
        """As `pull`, before anything was written: that it can't be told is a plain no."""
        try:
            return self.pull
        except Unreachable as why:
            raise Rejected(f"the forge can't be asked, so nothing was written: {why}") from why

    def told(self, checks: Iterable[Check]) -> str:
        """Checks as the model is shown them: a line each, and the logs of those that failed."""
        listed = list(checks)
        lines = [f"- {self.label(check)}: {check.state.value}" for check in listed[:_LISTED]]
        more = [f"- and {len(listed) - _LISTED} more"] if listed[_LISTED:] else []
        return "\n".join([*lines, *more, *self._logs(listed)])

    def label(self, check: Check) -> str:
        """A check as it is named to people and models: its name is somebody else's text."""
        name = first_line(self.redactor.text(check.name), _NAME)
        return name if check.app in ("", OWN) else f"{name} (app {first_line(check.app, 20)})"

    def _logs(self, checks: list[Check]) -> Iterator[str]:
        failed = [check for check in checks if check.state in (State.FAILURE, State.TIMED_OUT)]
        for check in failed[:_LOGS]:
            try:
                log = self.redactor.clean(self.forge.log(check)[-_READ:].encode())
            except Unreachable as why:
                log = f"(its log can't be had: {why})"
            if log.strip():
                yield f"The log of {self.label(check)}:\n{bounded(log.rstrip(), _LOG)}"
