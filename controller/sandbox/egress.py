"""The way out of a sandbox, for the hosts of a list: an HTTP proxy on a unix socket.

It runs in the controller, the command has no network but this socket. A name is resolved once, an
address that is not of the public internet is dropped, and the very address that was checked is
dialled: a listed name can't be made to lead to this machine or its neighbours.
"""

import ipaddress
import os
import select
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

SOCKET = "egress"
"""The name of the socket in its folder."""

_HEAD = 32 * 1024  # bytes of a request's head
_SECONDS = 120.0  # of silence on a connection
_PORT = 443
_UNICAST = ipaddress.IPv6Network("2000::/3")
_PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")
_OF_CLOUDS = ("168.63.129.16",)  # public by its number, and answers as a machine's own metadata
_AT_ONCE = 64  # connections
_TOLD = 20  # refused hosts that are remembered


def _resolved(host: str, port: int) -> list[str]:
    return [str(item[4][0]) for item in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@dataclass(slots=True)
class Egress:
    """What is let out: the hosts of the list (`name`, port 443, or `name:port`), and how they are
    found and reached. `refused` is what was asked for besides.
    """

    hosts: Sequence[str]
    resolve: Callable[[str, int], Sequence[str]] = _resolved
    dial: Callable[[str, int], socket.socket] = lambda address, port: socket.create_connection(
        (address, port), 20)
    refused: list[str] = field(default_factory=list)

    def reached(self, host: str, port: int) -> socket.socket | str:
        """A connection to a host, or why there is none."""
        if (host.lower().rstrip("."), port) not in set(map(_parsed, self.hosts)):
            self._note(f"{host}:{port}")
            return f"{host}:{port} is not on the list of hosts that this command may reach"
        try:
            found = self.resolve(host, port)
        except OSError as fault:
            return f"{host}: {fault}"
        public = [address for address in found if _public(address)]
        if not public:
            self._note(f"{host}:{port} ({', '.join(found)})")
            return f"{host} leads to {', '.join(found)}, which is not on the public internet"
        try:
            return self.dial(public[0], port)
        except OSError as fault:
            return f"{host}: {fault}"

    def _note(self, what: str) -> None:
        if what not in self.refused and len(self.refused) < _TOLD:
            self.refused.append(what)


@contextmanager
def serving(egress: Egress, folder: Path) -> Iterator[None]:
    """Let it out by a socket in `folder`, for as long as the block is open."""
    at = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with _Server(f"/proc/self/fd/{at}/{SOCKET}", egress) as server:  # a path of any length
            (folder / SOCKET).chmod(0o666)  # its folder says who may come
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            try:
                yield
            finally:
                server.shutdown()
                server.hang_up()
    finally:
        os.close(at)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads, block_on_close = True, False

    def __init__(self, path: str, egress: Egress) -> None:
        self.egress = egress
        self.open: set[socket.socket] = set()
        self.room = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__(path, _Connection)

    def hang_up(self) -> None:
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server, ours = cast("_Server", self.server), cast("socket.socket", self.request)
        if not server.room.acquire(blocking=False):
            return  # closed at once: a command has no use for so many
        server.open.add(ours)
        try:
            with suppress(OSError, ValueError):
                _serve(server.egress, ours)
        finally:
            server.open.discard(ours)
            server.room.release()


def _serve(egress: Egress, ours: socket.socket) -> None:
    ours.settimeout(_SECONDS)
    head, rest = _head(ours)
    method, target, version = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
    port = parts.port or (_PORT if method == "CONNECT" else 80)
    theirs = egress.reached(parts.hostname or "", port)
    if isinstance(theirs, str):
        ours.sendall(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n"
                     + f"oneshot: {theirs}\n".encode())
        return
    with theirs:
        if method == "CONNECT":
            ours.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:  # one request a connection, as a server expects it from a client
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            lines = [line for line in head.split(b"\r\n")[1:]
                     if not line.lower().startswith((b"proxy-", b"connection:"))]
            rest = b"\r\n".join([f"{method} {path} {version}".encode("latin-1"),
                                 b"Connection: close", *lines]) + b"\r\n\r\n" + rest
        theirs.sendall(rest)
        _joined(ours, theirs)


def _head(ours: socket.socket) -> tuple[bytes, bytes]:
    """The head of a request, and what has come of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = ours.recv(4096)
        if not more or len(data) > _HEAD:
            raise ValueError("no request")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _joined(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both sides have ended, or are silent for too long."""
    going = {one: other, other: one}
    while going:
        ready = select.select(list(going), [], [], _SECONDS)[0]
        if not ready:
            return
        for source in ready:
            data = source.recv(65536)
            if data:
                going[source].sendall(data)
            else:
                with suppress(OSError):
                    going[source].shutdown(socket.SHUT_WR)
                del going[source]


def _parsed(host: str) -> tuple[str, int]:
    name, _, port = host.partition(":")
    return name.lower(), int(port or _PORT)


def _public(address: str) -> bool:
    """Whether an address is of the public internet, and not one of ours by another notation."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):  # what carries another address is none
        return found in _UNICAST and found.is_global and not (found.sixtofour or found.teredo)
    return found.is_global and not found.is_multicast and found not in _PROTOCOLS and (
        address not in _OF_CLOUDS)
