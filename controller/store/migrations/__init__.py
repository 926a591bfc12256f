"""The database's versions: numbered SQL files, applied in order, each in one transaction."""

MIGRATIONS = ("0001_initial.sql", "0002_worktree.sql", "0003_contract.sql", "0004_wish.sql")
"""The files, in order; a database of version n has had the first n."""
