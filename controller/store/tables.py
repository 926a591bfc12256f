"""What the journal needs from a database: rows by key, in transactions."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from controller.core.canonical import JsonObject


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: its head, and who may write to it until when (ISO 8601, UTC), in which worktree."""

    run: str
    head: JsonObject
    token: int = 0
    holder: JsonObject | None = None
    until: str | None = None
    worktree: int = 0
    wish: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One link of a run's audit chain: `hash` covers `prev` and the canonical body."""

    run: str
    number: int
    body: JsonObject
    prev: str
    hash: str


@dataclass(frozen=True, slots=True)
class ConfirmationRow:
    """One question to a person. `status` is open, approved, declined or used."""

    run: str
    id: str
    status: str
    body: JsonObject


class Tables(Protocol):
    """Rows by key. Writes happen inside `transaction` only: all of them or none."""

    def transaction(self) -> AbstractContextManager[None]:
        """Hold the one write lock; what is written inside is durable when it ends."""

    def runs(self) -> tuple[str, ...]: ...
    def launch(self, run: str) -> JsonObject | None: ...
    def create_run(self, row: RunRow, launch: JsonObject) -> None: ...
    def run(self, run: str) -> RunRow | None: ...
    def put_run(self, row: RunRow) -> None: ...
    def effect(self, run: str) -> JsonObject | None: ...
    def put_effect(self, run: str, effect: JsonObject | None) -> None: ...
    def last_audit(self, run: str) -> AuditRow | None: ...
    def last_number(self, run: str) -> int: ...
    def audit(self, run: str, after: int) -> Iterator[AuditRow]: ...
    def put_audit(self, row: AuditRow) -> None: ...
    def artifact(self, digest: str) -> bytes | None: ...
    def put_artifact(self, digest: str, data: bytes) -> None: ...
    def confirmations(self, run: str) -> tuple[ConfirmationRow, ...]: ...
    def pending(self, run: str) -> tuple[ConfirmationRow, ...]: ...
    def put_confirmation(self, row: ConfirmationRow) -> None: ...
    def contract_version(self, run: str) -> int | None: ...
    def contracts(self, run: str) -> tuple[JsonObject, ...]: ...
    def put_contract(self, run: str, version: int, body: JsonObject) -> None: ...
    def messages(self, run: str, after: int) -> tuple[tuple[int, str], ...]: ...
    def put_message(self, run: str, text: str, at: str) -> int: ...
