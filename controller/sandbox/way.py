"""The way that a command has to the network, as it finds it."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controller.sandbox import relay
from controller.sandbox.egress import SOCKET
from controller.sandbox.profile import Mount, Network
from controller.sandbox.toolchain import interpreter

_PORT = 3128
_FOLDER = "/run/oneshot"


@dataclass(frozen=True, slots=True)
class Way:
    """What a command needs to reach its network: words before its own, mounts, variables."""

    network: Network = Network.NONE
    prefix: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    refused: Sequence[str] = ()


def through(folder: Path, refused: Sequence[str]) -> Way:
    """The way through the proxy whose socket is in a folder; it adds to `refused` what it refuses.
    """
    python = Path(sys.executable).resolve()
    text = Path(relay.__file__).read_text(encoding="utf-8")
    proxy = f"http://127.0.0.1:{_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    return Way(Network.PROXY,
               (str(python), "-I", "-S", "-c", text, f"{_FOLDER}/{SOCKET}", str(_PORT)),
               (Mount(folder, _FOLDER), *interpreter(python)),
               {**dict.fromkeys(names, proxy), "NO_PROXY": "localhost,127.0.0.1",
                "npm_config_ignore_scripts": "true"}, refused)
