"""Shipped fakes: a world in memory, crash points, a loopback model server, conformance suites."""
