"""A model provider on loopback, so that tests run the real clients and never a real model.

A test hands over one function, request in and answer out. The server keeps every model request, so
that a test can say what the model was shown.
"""

import itertools
import socket
import socketserver
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from controller.testing.wire import (
    Answer,
    Delivery,
    HttpReply,
    ModelRequest,
    Turn,
    parsed_object,
)
from controller.testing.wire_apis import api_of, json_reply, reply, side_answer

_PATIENCE = 60.0  # seconds after which even a server that says nothing ends
_DRIP = 0.05  # seconds between two bytes


class ModelServer:
    """Answers model requests at `url` for as long as the `with` block is open.

    `answer` runs in the thread of its request, so it may block without blocking another. When it
    raises, the client gets a 400, and leaving the block raises it (or notes it on what is raised).
    """

    def __init__(self, answer: Callable[[ModelRequest], Answer | str]) -> None:
        self.requests: list[ModelRequest] = []
        self._answer = answer
        self._faults: list[Exception] = []
        self._ids = itertools.count(1)
        self._http = _LoopbackServer(self._serve)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address without a path: Anthropic's base URL; OpenAI's is this plus `/v1`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._http.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        for fault in self._faults:
            if error is None:
                raise fault
            error.add_note(f"the test's answer function raised {fault!r}")

    def _serve(self, request: ModelRequest) -> HttpReply:
        api = api_of(request.path)
        if api is None:
            return json_reply(*side_answer(request.path))
        self.requests.append(request)
        turn = Turn(request, self._ask(request), next(self._ids))
        return reply(api, turn)

    def _ask(self, request: ModelRequest) -> Answer:
        try:
            said = self._answer(request)
        except Exception as fault:  # noqa: BLE001  (the test's own: __exit__ raises it there)
            self._faults.append(fault)
            return Answer(f"the test's answer function raised {fault!r}", status=400)
        return Answer(said) if isinstance(said, str) else said


class _LoopbackServer(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def __init__(self, serve: Callable[[ModelRequest], HttpReply]) -> None:
        self.serve = serve
        self.over = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own asks the DNS for a name

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that was killed in mid-answer is what some tests are about


class _Handler(BaseHTTPRequestHandler):
    server: _LoopbackServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        parsed = parsed_object(body.decode(errors="replace")) or {}
        self._deliver(self.server.serve(ModelRequest(self.path, headers, body, parsed)))

    def do_GET(self) -> None:
        self._send(json_reply(*side_answer(self.path)))

    def do_HEAD(self) -> None:
        self._send(HttpReply(200, "text/plain", b""))

    def _deliver(self, reply: HttpReply) -> None:
        """Send a reply in the way that it is to be delivered."""
        half = reply.body[:len(reply.body) // 2]
        self.close_connection = True
        match reply.delivery:
            case Delivery.WHOLE | Delivery.NOT_HTTP:
                self._send(reply)
            case Delivery.SILENT:
                self.server.over.wait(_PATIENCE)
            case Delivery.STALLED:
                self._send(reply, half)
                self.server.over.wait(_PATIENCE)
            case Delivery.DRIPPED:
                self._drip(reply)
            case Delivery.RESET:
                self._send(reply, half)
                self._reset()
            case Delivery.ENDED:
                self._send(reply, half)

    def _drip(self, reply: HttpReply) -> None:
        self._send(reply, b"")
        for place in range(len(reply.body)):
            if self.server.over.wait(_DRIP):
                return
            self.wfile.write(reply.body[place:place + 1])
            self.wfile.flush()

    def _reset(self) -> None:
        """Closing with lingering off sends a reset instead of an end (socket(7))."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _send(self, reply: HttpReply, part: bytes | None = None) -> None:
        self.send_response(reply.status)
        named = {"content-type": reply.content_type}
        if part is None:
            named["content-length"] = str(len(reply.body))
        for name, value in {**named, "connection": "close", **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body if part is None else part)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass
