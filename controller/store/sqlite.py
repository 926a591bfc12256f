"""The tables in one SQLite file: WAL, synchronous=FULL, one write lock from the first read on."""

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.core.canonical import JsonObject, canonical
from controller.core.errors import Damaged, StateError
from controller.store import statements as sql
from controller.store.migrations import MIGRATIONS
from controller.store.tables import AuditRow, ConfirmationRow, RunRow


@dataclass(frozen=True, slots=True)
class SqliteTables:
    """Rows by key in an open database. Not shared between threads."""

    connection: sqlite3.Connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield
            self.connection.execute("COMMIT")
        except sqlite3.Error as fault:
            self._undo()
            raise StateError(f"the database can't be written: {fault}; nothing was changed"
                             ) from fault
        except BaseException:
            self._undo()
            raise

    def _rows(self, statement: str, values: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query. Any: as the table's strict columns have them."""
        try:
            yield from self.connection.execute(statement, values)
        except sqlite3.Error as fault:
            raise StateError(f"the database can't be read: {fault}; what was shown of its runs is "
                             "in the folders of .agent-runtime/runs") from fault

    def _undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def runs(self) -> tuple[str, ...]:
        return tuple(run for (run,) in self._rows(sql.RUNS, ()))

    def run(self, run: str) -> RunRow | None:
        for head, token, holder, until, worktree, wish in self._rows(sql.RUN, (run,)):
            return RunRow(run, _read(head, run, "head"), token,
                          _read(holder, run, "holder") if holder else None, until, worktree,
                          wish)
        return None

    def launch(self, run: str) -> JsonObject | None:
        for (launch,) in self._rows(sql.LAUNCH, (run,)):
            return _read(launch, run, "launch")
        return None

    def create_run(self, row: RunRow, launch: JsonObject) -> None:
        self.connection.execute(sql.CREATE_RUN, (_text(launch), *_columns(row)))

    def put_run(self, row: RunRow) -> None:
        self.connection.execute(sql.PUT_RUN, _columns(row))

    def effect(self, run: str) -> JsonObject | None:
        for (effect,) in self._rows(sql.EFFECT, (run,)):
            return _read(effect, run, "open effect")
        return None

    def put_effect(self, run: str, effect: JsonObject | None) -> None:
        if effect is None:
            self.connection.execute(sql.DELETE_EFFECT, (run,))
        else:
            self.connection.execute(sql.PUT_EFFECT, (run, _text(effect)))

    def last_audit(self, run: str) -> AuditRow | None:
        for row in self._rows(sql.LAST_AUDIT, (run,)):
            return _audit(row)
        return None

    def last_number(self, run: str) -> int:
        for (number,) in self._rows(sql.LAST_NUMBER, (run,)):
            return int(number or 0)
        return 0

    def audit(self, run: str, after: int) -> Iterator[AuditRow]:
        for row in self._rows(sql.AUDIT, (run, after)):
            yield _audit(row)

    def put_audit(self, row: AuditRow) -> None:
        self.connection.execute(sql.PUT_AUDIT, (row.run, row.number, _text(row.body), row.prev,
                                                row.hash))

    def artifact(self, digest: str) -> bytes | None:
        found = list(self._rows(sql.ARTIFACT, (digest, digest)))
        try:
            return zlib.decompress(found[0][0]) if len(found) == 1 and len(digest) >= 8 else None
        except zlib.error:
            return None  # it is lost

    def put_artifact(self, digest: str, data: bytes) -> None:
        if not list(self._rows(sql.HAS_ARTIFACT, (digest,))):
            self.connection.execute(sql.PUT_ARTIFACT, (digest, zlib.compress(data, 1)))

    def confirmations(self, run: str) -> tuple[ConfirmationRow, ...]:
        return self._confirmations(sql.CONFIRMATIONS, run)

    def pending(self, run: str) -> tuple[ConfirmationRow, ...]:
        return self._confirmations(sql.PENDING, run)

    def _confirmations(self, statement: str, run: str) -> tuple[ConfirmationRow, ...]:
        return tuple(ConfirmationRow(run, id, status, _read(body, run, f"confirmation {id}"))
                     for run, id, status, body in self._rows(statement, (run,)))

    def put_confirmation(self, row: ConfirmationRow) -> None:
        self.connection.execute(sql.PUT_CONFIRMATION, (row.run, row.id, row.status,
                                                       _text(row.body)))

    def contract_version(self, run: str) -> int | None:
        found: int | None = next(iter(self._rows(sql.CONTRACT_VERSION, (run,))))[0]
        return found

    def contracts(self, run: str) -> tuple[JsonObject, ...]:
        return tuple(_read(body, run, "a version of the contract")
                     for (body,) in self._rows(sql.CONTRACTS, (run,)))

    def put_contract(self, run: str, version: int, body: JsonObject) -> None:
        self.connection.execute(sql.PUT_CONTRACT, (run, version, _text(body)))

    def messages(self, run: str, after: int) -> tuple[tuple[int, str], ...]:
        return tuple((id, text) for id, text in self._rows(sql.MESSAGES, (run, after)))

    def put_message(self, run: str, text: str, at: str) -> int:
        return self.connection.execute(sql.PUT_MESSAGE, (run, text, at)).lastrowid or 0


def open_tables(path: Path) -> SqliteTables:
    """The tables in the file `path`, made or brought up to date first.

    Raises StateError when the file is no database of ours, or of a newer oneshot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
        return SqliteTables(_opened(path))
    except (sqlite3.Error, OSError) as fault:
        raise StateError(f"can't open the database {path}: {fault}") from fault


def _make(path: Path) -> None:
    """Make a database aside and move it into place: nobody ever sees half of one.

    It gets its write-ahead log when all is in it: closing a log swallows the errors of its last
    checkpoint.
    """
    aside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    connection = sqlite3.connect(aside, isolation_level=None)
    with closing(connection):
        for pragma in sql.MAKING:
            connection.execute(pragma)
        _migrate(connection, aside)
        connection.execute("PRAGMA journal_mode = WAL")
    with suppress(FileExistsError):  # somebody else was first, and his is as good
        os.link(aside, path)
    aside.unlink()


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in sql.PRAGMAS:
        connection.execute(pragma)
    _migrate(connection, path)
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) == len(MIGRATIONS):
        return
    from importlib.resources import files

    folder = files("controller.store.migrations")
    with SqliteTables(connection).transaction():  # whoever comes second finds it done
        have = _version(connection)
        if have > len(MIGRATIONS):
            raise StateError(f"{path} was written by a newer oneshot (version {have}); "
                             "update oneshot")
        for name in MIGRATIONS[have:]:
            for statement in folder.joinpath(name).read_text(encoding="utf-8").split(";\n"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _columns(row: RunRow) -> tuple[str, int, str | None, str | None, int, str, str]:
    holder = _text(row.holder) if row.holder else None
    return _text(row.head), row.token, holder, row.until, row.worktree, row.wish, row.run


def _text(value: JsonObject) -> str:
    return canonical(value).decode()


def _audit(row: tuple[Any, ...]) -> AuditRow:
    run, number, body, prev, link = row
    return AuditRow(run, number, _read(body, run, f"audit record {number}"), prev, link)


def _read(text: str, run: str, what: str) -> JsonObject:
    try:
        found = json.loads(text)
    except ValueError as fault:
        raise Damaged(f"the {what} of run {run} is damaged ({fault}); `oneshot verify-audit` says "
                      "what is left of it") from fault
    if not isinstance(found, dict):
        raise Damaged(f"the {what} of run {run} is damaged: expected an object, got {text[:60]}")
    return found
