"""A code forge on loopback, so that tests run the real clients and never a real forge.

A test says what the forge knows (`forge.check(...)`, `forge.issue(...)`), lets the product talk to
it as to GitHub or, below `/api/v4`, to GitLab, and looks at `forge.pulls`, `forge.comments` and
`forge.requests`. A `Fault` in `forge.faults` spoils the next request that it fits.
"""

import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.forge.github import github
from tests.forge.gitlab import gitlab
from tests.forge.records import ACTIONS, Check, Comment, Issue, Job, Pipeline, Pull, Status
from tests.forge.state import Forge
from tests.forge.wire import (
    Cut,
    Exchange,
    Fault,
    Reply,
    Request,
    lost_write,
    rate_limited,
    reset,
    revalidated,
    server_error,
    slow_down,
)

__all__ = [
    "ACTIONS",
    "Check",
    "Comment",
    "Cut",
    "Exchange",
    "Fault",
    "Forge",
    "Issue",
    "Job",
    "Pipeline",
    "Pull",
    "Reply",
    "Status",
    "lost_write",
    "rate_limited",
    "reset",
    "server_error",
    "serving",
    "slow_down",
]


@contextmanager
def serving(forge: Forge) -> Iterator[str]:
    """Serve the forge at the address this gives, for as long as the `with` block is open.

    A mistake of the stand-in's own is raised when the block has ended well.
    """
    server = _LoopbackServer(forge)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.origin
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    for crash in server.crashes:
        raise crash


def exchange(forge: Forge, request: Request) -> Reply | Cut:
    """Serve one request, whole before the next begins, and log it."""
    with forge.lock:
        fault = forge.take_fault(request.method, request.path)
        if fault is None:
            answer: Reply | Cut = revalidated(request, _routed(forge, request))
        else:
            if fault.performed:
                _routed(forge, request)
            answer = fault.answer
        status = answer.status if isinstance(answer, Reply) else None
        forge.requests.append(Exchange(request.method, request.target, status))
        return answer


def _routed(forge: Forge, request: Request) -> Reply:
    return gitlab(forge, request) if "/api/v4/" in request.path else github(forge, request)


class _LoopbackServer(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def __init__(self, forge: Forge) -> None:
        self.forge = forge
        self.crashes: list[BaseException] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own asks the DNS for a name

    def handle_error(self, request: object, client_address: object) -> None:
        crash = sys.exception()
        if crash and not isinstance(crash, ConnectionError):  # which is a client that was killed
            self.crashes.append(crash)


class _Handler(BaseHTTPRequestHandler):
    server: _LoopbackServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, self.server.origin, headers, body)
        match exchange(self.server.forge, request):
            case Reply() as reply:
                self._send(reply)
            case Cut.CLOSE:
                self.close_connection = True
            case Cut.RESET:
                self._reset()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  (http.server's)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("content-length", str(len(reply.body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(reply.body)

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.close(self.connection.detach())  # now, and not after the orderly end of finish()

    def log_message(self, format: str, *args: object) -> None:
        pass
