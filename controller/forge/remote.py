"""The remote repository of a run: its branch there, moved forward and never over anybody's work."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.core.errors import WorldError
from controller.git_config import CONFIG, as_environment
from controller.repo import Repo
from controller.web import Unreachable

_SECONDS = 300.0


class Rejected(Exception):  # an answer, not a fault
    """Why the remote does not take a push: a sentence for the model."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository, by its URL, as it is reached from `repo`, ours. `home`: where ssh finds
    the user's keys; `token`: for https.
    """

    repo: Repo
    url: str = field(repr=False)
    home: str = "/nonexistent"
    token: str = field(default="", repr=False)

    def at(self, branch: str) -> str | None:
        """The Git commit that a branch there is at, or None. Raises Unreachable."""
        ref = f"refs/heads/{branch}"
        said = self._asked("ls-remote", "--refs", self.url, ref).decode()
        found = {name: id for id, name in (line.split("\t") for line in said.splitlines())}
        return found.get(ref)

    def push(self, branch: str, commit: str) -> None:
        """Move a branch there forward to a Git commit. Raises Rejected when somebody else has moved
        it, Unreachable when it can't be told whether it was done.
        """
        ref = f"refs/heads/{branch}"
        try:
            old = self.at(branch)
        except Unreachable as why:
            raise Rejected(f"the remote can't be asked, so nothing was pushed: {why}") from why
        if old == commit:
            return
        if old and not self.leads(old, commit):
            raise Rejected(f"{branch} on the remote is at {old}, which this run does not have: "
                           "somebody else has pushed to it; nothing was overwritten")
        try:
            self._asked("push", "--atomic", "--no-verify",
                        f"--force-with-lease={ref}:{old or ''}", self.url, f"{commit}:{ref}")
        except Unreachable as why:
            if self.at(branch) == commit:
                return  # it was done, and only its answer was lost
            if "[remote rejected]" in str(why) or "[rejected]" in str(why):
                raise Rejected(f"the remote does not take it: {_said(str(why))}") from None
            raise

    def leads(self, old: str, new: str) -> bool:
        """Whether a Git commit has another among those before it, or is it."""
        try:
            return not self.repo.git("rev-list", "--max-count=1", old, f"^{new}")
        except WorldError:
            return False  # we don't have it

    def _asked(self, *args: str) -> bytes:
        try:
            return self.repo.git(*args, extra=self._environment(), timeout=_SECONDS)
        except WorldError as fault:
            raise Unreachable(str(fault).replace(self.url, "the remote")) from fault

    def _environment(self) -> Mapping[str, str]:
        config = {**CONFIG, "http.followRedirects": "false"}
        if self.token and self.url.startswith("https://"):
            basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
            host = "/".join(self.url.split("/")[:3])
            config[f"http.{host}/.extraHeader"] = f"Authorization: Basic {basic}"
        return {
            "HOME": self.home, "GIT_ALLOW_PROTOCOL": "https:ssh:git:file",
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=15", **as_environment(config)}


def _said(words: str) -> str:
    """What the remote said, without git's own words."""
    lines = [line.removeprefix("remote:").strip() for line in words.splitlines()
             if line.startswith("remote:") or "rejected]" in line]
    return " ".join(filter(None, lines))[:400] or words[:400]
