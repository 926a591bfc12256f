"""What systemd is told when it has started us (sd_notify(3)): that we are there, and alive."""

import socket
from collections.abc import Mapping


def tell(variables: Mapping[str, str], state: str) -> None:
    """Send one state, such as READY=1 or WATCHDOG=1, to whoever has started us and wants to know.

    Never raises: nobody's supervisor stops a run.
    """
    address = variables.get("NOTIFY_SOCKET", "")
    if not address:
        return
    place = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(state.encode(), place)
    except OSError:
        return
