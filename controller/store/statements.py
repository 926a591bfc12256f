"""Every SQL statement of the SQLite tables, in one place to be read together."""

MAKING = ("PRAGMA page_size = 8192", "PRAGMA synchronous = FULL")
"""For a new database, before there is anything in it."""

PRAGMAS = (
    "PRAGMA busy_timeout = 30000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)

RUNS = "SELECT run FROM run ORDER BY number"
LAUNCH = "SELECT launch FROM run WHERE run = ?"
CREATE_RUN = """
INSERT INTO run (launch, head, token, holder, until, worktree, wish, run)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
RUN = "SELECT head, token, holder, until, worktree, wish FROM run WHERE run = ?"
PUT_RUN = """
UPDATE run SET head = ?, token = ?, holder = ?, until = ?, worktree = ?, wish = ? WHERE run = ?
"""

EFFECT = "SELECT effect FROM effect WHERE run = ?"
PUT_EFFECT = """
INSERT INTO effect (run, effect) VALUES (?, ?)
ON CONFLICT (run) DO UPDATE SET effect = excluded.effect
"""
DELETE_EFFECT = "DELETE FROM effect WHERE run = ?"

AUDIT = """
SELECT run, number, body, prev, hash FROM audit WHERE run = ? AND number > ? ORDER BY number
"""
LAST_AUDIT = """
SELECT run, number, body, prev, hash FROM audit WHERE run = ? ORDER BY number DESC LIMIT 1
"""
LAST_NUMBER = "SELECT max(number) FROM audit WHERE run = ?"
PUT_AUDIT = "INSERT INTO audit (run, number, body, prev, hash) VALUES (?, ?, ?, ?, ?)"

ARTIFACT = "SELECT data FROM artifact WHERE digest >= ? AND digest < ? || 'g' LIMIT 2"
HAS_ARTIFACT = "SELECT 1 FROM artifact WHERE digest = ?"
PUT_ARTIFACT = "INSERT INTO artifact (digest, data) VALUES (?, ?) ON CONFLICT DO NOTHING"

CONFIRMATIONS = "SELECT run, id, status, body FROM confirmation WHERE run = ? ORDER BY rowid"
PENDING = """
SELECT run, id, status, body FROM confirmation WHERE run = ? AND status <> 'used' ORDER BY rowid
"""
PUT_CONFIRMATION = """
INSERT INTO confirmation (run, id, status, body) VALUES (?, ?, ?, ?)
ON CONFLICT (run, id) DO UPDATE SET status = excluded.status, body = excluded.body
"""

CONTRACT_VERSION = "SELECT max(version) FROM contract WHERE run = ?"
CONTRACTS = "SELECT body FROM contract WHERE run = ? ORDER BY version"
PUT_CONTRACT = "INSERT INTO contract (run, version, body) VALUES (?, ?, ?)"

MESSAGES = "SELECT id, text FROM message WHERE run = ? AND id > ? ORDER BY id"
PUT_MESSAGE = "INSERT INTO message (run, text, at) VALUES (?, ?, ?)"
