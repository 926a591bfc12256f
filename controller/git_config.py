"""What git is told, whatever any configuration or environment says."""

from collections.abc import Mapping

from controller.process import SYSTEM_PATH

CONFIG = {
    "advice.detachedHead": "false",
    "commit.gpgSign": "false",
    "core.askPass": "true",
    "core.autocrlf": "false",
    "core.checkStat": "default",
    "core.fsync": "loose-object,pack,reference",
    "core.fileMode": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.ignoreCase": "false",
    "core.pager": "cat",
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "core.symlinks": "true",
    "core.trustctime": "true",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
}
"""What every git command is told, whatever any configuration says."""


def as_environment(config: Mapping[str, str]) -> dict[str, str]:
    """The variables that tell git this configuration and no other."""
    return {"GIT_CONFIG_COUNT": str(len(config)),
            **{f"GIT_CONFIG_KEY_{i}": key for i, key in enumerate(config)},
            **{f"GIT_CONFIG_VALUE_{i}": value for i, value in enumerate(config.values())}}


ENVIRONMENT = {
    "PATH": SYSTEM_PATH,
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_ASKPASS": "true",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    **as_environment(CONFIG),
}
"""What every git process is started with, and nothing besides but its repository."""
