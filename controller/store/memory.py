"""The tables in this process: for tests and for `plan`, where nothing is to be kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from controller.core.canonical import JsonObject
from controller.store.tables import AuditRow, ConfirmationRow, RunRow

J = TypeVar("J")


def _copied(value: J) -> J:
    """JSON that nobody else has: several times as fast as a deep copy of anything."""
    match value:
        case dict():
            return {key: _copied(below) for key, below in value.items()}  # type: ignore[return-value]  # as it came
        case list():
            return [_copied(below) for below in value]  # type: ignore[return-value]  # as it came
        case _:
            return value


@dataclass(slots=True)
class _Rows:
    launches: dict[str, JsonObject] = field(default_factory=dict)
    runs: dict[str, RunRow] = field(default_factory=dict)
    effects: dict[str, JsonObject] = field(default_factory=dict)
    audit: dict[str, list[AuditRow]] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    confirmations: dict[tuple[str, str], ConfirmationRow] = field(default_factory=dict)
    messages: list[tuple[int, str, str]] = field(default_factory=list)
    contracts: dict[tuple[str, int], JsonObject] = field(default_factory=dict)


@dataclass(slots=True)
class MemoryTables:
    """Rows by key in dictionaries; a transaction that raises leaves them as they were."""

    rows: _Rows = field(default_factory=_Rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        rows = self.rows
        before = _Rows(dict(rows.launches), dict(rows.runs), dict(rows.effects),
                       {run: list(chain) for run, chain in rows.audit.items()},
                       dict(rows.artifacts), dict(rows.confirmations), list(rows.messages),
                       dict(rows.contracts))
        try:
            yield
        except BaseException:
            self.rows = before
            raise

    def runs(self) -> tuple[str, ...]:
        return tuple(self.rows.runs)

    def run(self, run: str) -> RunRow | None:
        row = self.rows.runs.get(run)
        return row and replace(row, head=_copied(row.head), holder=_copied(row.holder))

    def launch(self, run: str) -> JsonObject | None:
        return self.rows.launches.get(run)

    def create_run(self, row: RunRow, launch: JsonObject) -> None:
        self.rows.launches[row.run] = launch
        self.put_run(row)

    def put_run(self, row: RunRow) -> None:
        self.rows.runs[row.run] = row

    def effect(self, run: str) -> JsonObject | None:
        return _copied(self.rows.effects.get(run))

    def put_effect(self, run: str, effect: JsonObject | None) -> None:
        self.rows.effects.pop(run, None)
        if effect is not None:
            self.rows.effects[run] = effect

    def last_audit(self, run: str) -> AuditRow | None:
        chain = self.rows.audit.get(run)
        return chain[-1] if chain else None

    def last_number(self, run: str) -> int:
        return len(self.rows.audit.get(run, []))

    def audit(self, run: str, after: int) -> Iterator[AuditRow]:
        return iter(self.rows.audit.get(run, [])[after:])

    def put_audit(self, row: AuditRow) -> None:
        self.rows.audit.setdefault(row.run, []).append(row)

    def artifact(self, digest: str) -> bytes | None:
        found = [key for key in self.rows.artifacts if key.startswith(digest)]
        return self.rows.artifacts[found[0]] if len(found) == 1 and len(digest) >= 8 else None

    def put_artifact(self, digest: str, data: bytes) -> None:
        self.rows.artifacts[digest] = data

    def confirmations(self, run: str) -> tuple[ConfirmationRow, ...]:
        return tuple(row for (of, _), row in self.rows.confirmations.items() if of == run)

    def pending(self, run: str) -> tuple[ConfirmationRow, ...]:
        return tuple(row for row in self.confirmations(run) if row.status != "used")

    def put_confirmation(self, row: ConfirmationRow) -> None:
        self.rows.confirmations[row.run, row.id] = row

    def contract_version(self, run: str) -> int | None:
        return max((number for of, number in self.rows.contracts if of == run), default=None)

    def contracts(self, run: str) -> tuple[JsonObject, ...]:
        return tuple(body for (of, _), body in sorted(self.rows.contracts.items()) if of == run)

    def put_contract(self, run: str, version: int, body: JsonObject) -> None:
        self.rows.contracts[run, version] = body

    def messages(self, run: str, after: int) -> tuple[tuple[int, str], ...]:
        return tuple((id, text) for id, of, text in self.rows.messages if of == run and id > after)

    def put_message(self, run: str, text: str, at: str) -> int:
        self.rows.messages.append((len(self.rows.messages) + 1, run, text))
        return len(self.rows.messages)
