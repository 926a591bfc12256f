-- Versions of a run's contract after the first, which its launch has. Nothing is ever overwritten.
CREATE TABLE contract (
  run     TEXT NOT NULL REFERENCES run (run),
  version INTEGER NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (run, version)
) STRICT;
