"""Runs inside a sandbox as a text, before the command: a port of its loopback leads to the proxy.

    python -I -S -c TEXT SOCKET PORT COMMAND…

Python's standard library only: nothing of ours can be imported there.
"""

import os
import socket
import sys
import threading
from contextlib import suppress


def carry(source: socket.socket, target: socket.socket) -> None:
    """Carry bytes one way to the end."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def joined(client: socket.socket, path: str) -> None:
    """Join one client to the proxy."""
    with client, socket.socket(socket.AF_UNIX) as proxy:
        proxy.connect(path)
        back = threading.Thread(target=carry, args=(proxy, client), daemon=True)
        back.start()
        carry(client, proxy)
        back.join()


def main() -> None:
    """Listen, then become the command; the sandbox ends us with it."""
    path, port, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    server = socket.create_server(("127.0.0.1", port))
    if os.fork():
        server.close()
        try:
            os.execvp(command[0], command)  # noqa: S606  (this is what we are for)
        except OSError as fault:
            sys.exit(f"oneshot: can't execute {command[0]}: {fault.strerror}")
    os.setsid()
    for number in (0, 1, 2):
        os.close(number)
    while True:
        threading.Thread(target=joined, args=(server.accept()[0], path), daemon=True).start()


if __name__ == "__main__":
    main()
