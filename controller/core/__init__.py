"""The rules: values and pure functions. No clock, no disk, no network, no environment."""
