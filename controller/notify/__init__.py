"""People elsewhere: told when they are needed, and their answers taken when they are signed for."""
