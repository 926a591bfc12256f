"""The database's versions: numbered SQL files, applied in order, each in one transaction."""
