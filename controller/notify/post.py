"""The post office of one run: notices go out as the record grows, answers come into the record."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from controller.core.approval import Seal
from controller.core.canonical import JsonObject, JsonValue
from controller.core.config import Limits
from controller.core.errors import SetupError
from controller.core.head import RunId
from controller.core.ports import Clock
from controller.notify.notice import Notice, document, notices, question
from controller.notify.replies import Answer
from controller.notify.routes import Route, Unreachable
from controller.store.people import Desk
from controller.store.queries import Queries

_FOLDED = timedelta(minutes=30)
"""The same thing is told again only after so long."""

_KEPT = 200  # keys that are remembered


@dataclass(slots=True)
class Post:
    """Tells people by every route, and takes their answers. `told` keeps what was told when."""

    queries: Queries
    desk: Desk
    seal: Seal
    clock: Clock
    limits: Limits
    routes: tuple[Route, ...]
    told: Path
    warn: Callable[[str], None]
    seen: int = 0
    waiting: list[Answer] = field(default_factory=list)

    def written(self, run: RunId) -> None:
        """Tell what is new in the record."""
        if not self.routes:
            return
        for record in self.queries.audit(run, self.seen):
            self.seen = int(str(record["number"]))
            head = self.queries.head(run)
            for notice in notices(record, head, self.limits):
                if self._is_new(notice):
                    self._send(document(notice, head, self.queries.launch(run).goal,
                                        self._questions(run)))

    def collect(self, run: RunId) -> None:
        """Take in what has come: by the way in which a notice went out, or since then."""
        for route in self.routes:
            try:
                self.waiting += route.poll()
            except Unreachable as fault:
                self.warn(f"note: no answers can be asked for: {fault}")
        answers, self.waiting = self.waiting, []
        for answer in answers:
            why = self._taken(run, answer)
            if why:
                self.warn(f"note: an answer to {answer.id} ({answer.how}) counts for nothing: "
                          f"{why}")

    def _taken(self, run: RunId, answer: Answer) -> str:
        try:
            return self.desk.remote(run, answer.id, answer.token, approve=answer.approve,
                                    reason=answer.reason, now=self.clock.now(), how=answer.how)
        except SetupError as fault:
            return str(fault)

    def _questions(self, run: RunId) -> list[JsonValue]:
        return [question(item, self.seal.token(run, str(item["id"]), item))
                for item in self.queries.confirmations(run) if item["status"] == "open"]

    def _send(self, notice: JsonObject) -> None:
        for route in self.routes:
            try:
                self.waiting += route.send(notice)
            except Unreachable as fault:
                self.warn(f"note: {notice['title']}: could not be told: {fault}")

    def _is_new(self, notice: Notice) -> bool:
        known, now = self._known(), self.clock.now()
        last = known.get(notice.key)
        if last and now - datetime.fromisoformat(last) < _FOLDED:
            return False
        kept = dict(list(known.items())[-_KEPT:]) | {notice.key: now.isoformat()}
        beside = self.told.with_suffix(".tmp")
        beside.write_text(json.dumps(kept), "utf-8")
        beside.replace(self.told)
        return True

    def _known(self) -> dict[str, str]:
        try:
            found = json.loads(self.told.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(key): str(at) for key, at in found.items()} if isinstance(found, dict) else {}
