"""A forge: the remote repository, its pull requests, issues and checks, whoever runs it."""

from collections.abc import Iterator
from typing import Protocol

from controller.core.delivery import Issue, Pull, Thread
from controller.core.hosted import Check


class Forge(Protocol):
    """One repository of a forge. Every method raises Unreachable when the forge can't be asked, or
    has no such thing; what writes may have been carried out all the same.
    """

    @property
    def name(self) -> str:
        """What it is, for people."""

    def checks(self, commit: str) -> tuple[Check, ...]:
        """Every check of a Git commit, older attempts too where the forge tells of them."""

    def log(self, check: Check) -> str:
        """What a check has printed; empty when it keeps no log."""

    def required(self, branch: str) -> tuple[str, ...]:
        """What the forge itself requires of a branch: sorted names of checks; of an unprotected
        one nothing.
        """

    def issue(self, number: int) -> Issue:
        """An issue as it is now."""

    def pulls(self, branch: str) -> tuple[Pull, ...]:
        """The pull requests of a branch of this repository, open ones first."""

    def open_pull(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        """Open a pull request."""

    def edit_pull(self, number: int, title: str, body: str, *, draft: bool) -> Pull:
        """Give a pull request another title and text."""

    def comments(self, thread: Thread) -> Iterator[str]:
        """The texts of every comment of a thread."""

    def comment(self, thread: Thread, body: str) -> str:
        """Write a comment: its address."""
