"""Servers on loopback that stand for a webhook, an ntfy server and a forge."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handler = Callable[[str, str, Any], Any]
"""(method, path, body) -> what is answered as JSON; a list of documents is answered as lines."""


@dataclass(slots=True)
class Heard:
    """What a server was asked, and where it is."""

    url: str
    asked: list[tuple[str, str, Any, dict[str, str]]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Any]:
        return [body for _, _, body, _ in self.asked if body is not None]


@contextmanager
def serving(handler: Handler) -> Iterator[Heard]:
    """A server that answers by `handler` for as long as the block is open."""
    heard = Heard("")

    class Answering(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(size).decode()
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = raw
            heard.asked.append((self.command, self.path, body, dict(self.headers)))
            said = handler(self.command, self.path, body)
            status, said = said if isinstance(said, tuple) else (200, said)
            lines = [json.dumps(part) for part in (said if isinstance(said, list) else [said])]
            data = "\n".join(lines).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815  (as http.server calls them)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    heard.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(slots=True)
class Phone:
    """An ntfy server with a phone that presses the first button of each message it gets."""

    topic: str = "alerts"
    replies: str = "answers"
    presses: bool = True
    posted: list[str] = field(default_factory=list)

    def __call__(self, method: str, path: str, body: Any) -> Any:
        if method == "POST" and path == "/":
            for action in body["actions"][:1] if self.presses else ():
                self.posted.append(action["body"])
            return {"id": "1"}
        if method == "POST":
            self.posted.append(str(body))
            return {"id": "2"}
        since = path.rpartition("since=")[2]
        start = int(since) if since.isdigit() else 0
        return [{"event": "open"}, *({"event": "message", "id": str(number), "message": text}
                                     for number, text in enumerate(self.posted, 1)
                                     if number > start)]
