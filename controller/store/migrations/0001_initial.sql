-- One row a run: what it was started with, its head, and who may write to it.
CREATE TABLE run (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  run    TEXT NOT NULL UNIQUE,
  launch TEXT NOT NULL,
  head   TEXT NOT NULL,
  token  INTEGER NOT NULL,
  holder TEXT,
  until  TEXT
) STRICT;

-- At most one effect a run is open; a settled one lives on in the audit trail.
CREATE TABLE effect (
  run    TEXT PRIMARY KEY REFERENCES run (run),
  effect TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The audit trail: append-only, each row chained to the one before it.
CREATE TABLE audit (
  run    TEXT NOT NULL REFERENCES run (run),
  number INTEGER NOT NULL,
  body   TEXT NOT NULL,
  prev   TEXT NOT NULL,
  hash   TEXT NOT NULL,
  PRIMARY KEY (run, number)
) STRICT;

-- Bytes by SHA-256, compressed: prompts, replies, outputs, states.
CREATE TABLE artifact (
  digest TEXT PRIMARY KEY,
  data   BLOB NOT NULL
) STRICT;

CREATE TABLE confirmation (
  run    TEXT NOT NULL REFERENCES run (run),
  id     TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'approved', 'declined', 'used')),
  body   TEXT NOT NULL,
  PRIMARY KEY (run, id)
) STRICT;

CREATE TABLE message (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  run  TEXT NOT NULL REFERENCES run (run),
  text TEXT NOT NULL,
  at   TEXT NOT NULL
) STRICT;
