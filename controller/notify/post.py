"""The post office of one run: notices go out as the record grows, answers come into the record."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from controller.core.approval import Seal
from controller.core.canonical import JsonValue
from controller.core.errors import SetupError
from controller.core.head import RunId
from controller.core.ports import Clock
from controller.core.rules import Rules
from controller.notify.notice import Notice, document, notices, question
from controller.notify.replies import Answer
from controller.notify.routes import Route
from controller.scraps import read_scrap, write_scrap
from controller.store.contracts import document as contract_document
from controller.store.people import Desk
from controller.store.queries import Queries
from controller.web import Unreachable

_FOLDED = timedelta(minutes=30)
"""The same thing is told again only after so long."""

_QUESTIONS = 3  # that one notice has

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

_DOWN = timedelta(minutes=1)
"""After nobody could be told, so long."""

_KEPT = 200  # keys that are remembered


@dataclass(slots=True)
class Post:
    """Tells people by every route, and takes their answers. `told` is the file of what was told;
    where there is none yet, everything up to record `seen` was before there was somebody to tell.
    """

    queries: Queries
    desk: Desk
    seal: Seal
    clock: Clock
    rules: Rules
    routes: tuple[Route, ...]
    told: Path
    warn: Callable[[str], None]
    seen: int = 0
    down: datetime = _LONG_AGO  # until when nothing is sent again
    unheard: datetime = _LONG_AGO  # until when no answers are asked for again
    waiting: list[tuple[str, Answer]] = field(default_factory=list)

    def written(self, run: RunId) -> None:
        """Tell what is new in the record; what was told is known to the next process as well."""
        if not self.routes:
            return
        known = self._known()
        if self.clock.now() < self.down:
            return  # it is told later: what waits for a server does not wait for a run
        began = self.queries.launch(run).at
        for record in self.queries.audit(run, known.seen):
            head = self.queries.head(run)
            new = [notice for notice in notices(record, head, self.rules, began)
                   if self._is_new(notice, known)]
            if not all(self._sent(run, notice) for notice in new):
                self.down = self.clock.now() + _DOWN
                break
            known.at |= {notice.key: self.clock.now().isoformat() for notice in new}
            known.seen = int(str(record["number"]))
        self._remember(known)

    def collect(self, run: RunId) -> None:
        """Take in what has come: by the way in which a notice went out, or since then. Nobody is
        asked while nothing is open, nor for a while after a route was down.
        """
        asking = bool(self.routes) and self.clock.now() >= self.unheard and bool(
            self.queries.questions(run))
        for route in self.routes if asking else ():
            try:
                self.waiting += [(route.name, answer) for answer in route.poll()]
            except Unreachable as fault:
                self.warn(f"note: no answers can be asked for: {fault}")
                self.unheard = self.clock.now() + _DOWN
        answers, self.waiting = self.waiting, []
        for way, answer in answers:
            why = self._taken(run, way, answer)
            if why:
                self.warn(f"note: an answer to {answer.id} ({answer.how}) counts for nothing: "
                          f"{why}")

    def _taken(self, run: RunId, way: str, answer: Answer) -> str:
        try:
            return self.desk.remote(run, answer.id, answer.token, way=way, approve=answer.approve,
                                    reason=answer.reason, now=self.clock.now(), how=answer.how)
        except SetupError as fault:
            return str(fault)

    def _sent(self, run: RunId, notice: Notice) -> bool:
        """Whether some route has taken the notice."""
        head, goal, taken = self.queries.head(run), self.queries.launch(run).goal, False
        for route in self.routes:
            told = document(notice, head, goal, self._questions(run, route.name))
            try:
                self.waiting += [(route.name, answer) for answer in route.send(told)]
                taken = True
            except Unreachable as fault:
                self.warn(f"note: {notice.title}: could not be told: {fault}")
        return taken

    def _questions(self, run: RunId, way: str) -> list[JsonValue]:
        """The newest questions; the rest is told of by `oneshot approvals`."""
        contract = contract_document(self.queries.tables, run)
        return [question(item, contract, self.seal.token(run, str(item["id"]), item, way))
                for item in self.queries.questions(run)[-_QUESTIONS:]]

    def _is_new(self, notice: Notice, known: "_Known") -> bool:
        last = known.at.get(notice.key)
        return not last or self.clock.now() - datetime.fromisoformat(last) >= _FOLDED

    def _known(self) -> "_Known":
        try:
            found: Any = read_scrap(self.told)  # Any: whatever it holds, faults are caught
            return _Known(int(found["seen"]), {str(key): str(at)
                                               for key, at in found["at"].items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            return _Known(self.seen, {})

    def _remember(self, known: "_Known") -> None:
        kept = dict(list(known.at.items())[-_KEPT:])
        write_scrap(self.told, {"seen": known.seen, "at": dict[str, JsonValue](kept)})


@dataclass(slots=True)
class _Known:
    """How far the record was told of, and which notice when."""

    seen: int
    at: dict[str, str]
