"""The forge that a configuration names. What is secret in it is the name of a variable."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from controller.core.config import ForgeConfig
from controller.core.errors import SetupError, WorldError
from controller.core.head import RunId
from controller.core.rules import Rules
from controller.forge import Forge
from controller.forge.github import API as GITHUB
from controller.forge.github import GitHub
from controller.forge.gitlab import API as GITLAB
from controller.forge.gitlab import GitLab
from controller.forge.outside import Outside
from controller.forge.program import Program
from controller.forge.remote import Remote
from controller.repo import Repo
from controller.settings import Settings
from controller.web import Web

_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
"""What the user's own command finds of his environment."""


def outside_of(rules: Rules, run: RunId, branch: str, settings: Settings, user: Repo,
               repo: Repo) -> Outside | None:
    """The forge of a run on `branch`, when its configuration names one. Raises SetupError for what
    that lacks.
    """
    if rules.forge is None:
        return None
    assert user.work_tree is not None
    return Outside(run, branch, forge_of(rules.forge, settings, user.work_tree),
                   remote_of(rules.forge, settings, user, repo), rules.forge, rules.redactor)


def forge_of(config: ForgeConfig, settings: Settings, root: Path) -> Forge:
    """The client of a forge. Raises SetupError for what the configuration lacks."""
    if config.kind == "command":
        if not config.command:
            raise SetupError("config.yaml: a forge of kind `command` needs its command")
        passed = {name: settings.variables[name] for name in _PASSED if name in settings.variables}
        return Program(("sh", "-c", config.command), root, passed)
    if not config.repo:
        raise SetupError("config.yaml: forge.repo is missing: owner/name")
    token = settings.named(config.token, "forge.token")
    if config.kind == "gitlab":
        return GitLab(Web(_headers("PRIVATE-TOKEN", token)), config.repo,
                      (config.api or GITLAB).rstrip("/"))
    accepts = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return GitHub(Web({**accepts, **_headers("Authorization", token and f"Bearer {token}")}),
                  config.repo, (config.api or GITHUB).rstrip("/"))


def remote_of(config: ForgeConfig, settings: Settings, user: Repo, repo: Repo) -> Remote:
    """The remote that is pushed to: an URL, or a remote of the user's repository by its name.
    Raises SetupError when there is none.
    """
    url = config.remote
    if ":" not in url and "/" not in url:
        url = _url(user, settings.home, url)
    token = settings.named(config.token, "forge.token") if _same_forge(config, url) else ""
    return Remote(repo, url, str(settings.home), token)


def _same_forge(config: ForgeConfig, url: str) -> bool:
    """Whether a remote is where the API is: nobody else gets the token."""
    api = urlsplit(config.api or {"gitlab": GITLAB, "github": GITHUB}.get(config.kind, ""))
    host = urlsplit(url).hostname
    return bool(host) and api.hostname in (host, f"api.{host}")


def _url(user: Repo, home: Path, name: str) -> str:
    try:
        return user.git("config", "--includes", "--get", f"remote.{name}.url", extra={
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}).decode("utf-8", "replace").strip()
    except WorldError:
        raise SetupError(f"config.yaml: forge.remote is {name!r}, and your repository has no such "
                         "remote; name one, or an URL") from None


def _headers(name: str, value: str) -> Mapping[str, str]:
    return {name: value} if value else {}
