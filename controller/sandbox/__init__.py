"""The walls around a command: what it can reach is decided here, never by reading its text."""
