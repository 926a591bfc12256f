"""The way out of a sandbox: the hosts of a list, at public addresses, and nothing else."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from controller.commands import Shell
from controller.core.action import Command
from controller.core.policy import Policy, Reach
from controller.core.tier import Tier
from controller.sandbox.choice import Sandbox
from controller.sandbox.egress import Egress
from tests.sandbox.test_walls import PYTHON

PUBLIC = "93.184.216.34"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"you asked for {self.path} of {self.headers['Host']}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def shell(tmp_path: Path, server: HTTPServer, sandboxes: dict[Tier, Sandbox]) -> Shell:
    """A shell whose every public address is the server of the test."""
    for name in ("work", "scratch"):
        (tmp_path / name).mkdir()

    def way(hosts: tuple[str, ...]) -> Egress:
        return Egress(hosts, lambda host, port: [PUBLIC], lambda address, port:
                      socket.create_connection(("127.0.0.1", server.server_port)))

    return Shell(Policy(timeout=20), tmp_path / "scratch", "", sandboxes[Tier.BUBBLEWRAP], PYTHON,
                 egress=way)


FETCH = ("python3 -c 'import sys, urllib.request as u; "
         "print(u.urlopen(sys.argv[1]).read().decode())' {} 2>&1 | tail -n 2")


@pytest.mark.parametrize(("url", "says"), [
    ("http://allowed.example/a?b=c", "you asked for /a?b=c of allowed.example"),
    ("http://allowed.example:81/", "403"), ("http://other.example/", "403"),
    ("http://127.0.0.1:80/", "efused"),
], ids=["allowed", "other-port", "other-host", "own-loopback"])
def test_a_listed_host_is_reached_and_no_other(
        shell: Shell, tmp_path: Path, url: str, says: str) -> None:
    ran = shell.run(Command(("sh", "-c", FETCH.format(url))), tmp_path / "work",
                    reach=Reach(("allowed.example:80",)))

    assert says in ran.output


def test_an_encrypted_connection_is_let_through_unread(shell: Shell, tmp_path: Path) -> None:
    line = ("exec 3<>/dev/tcp/127.0.0.1/3128; "
            "printf 'CONNECT allowed.example:443 HTTP/1.1\\r\\n\\r\\n' >&3; "
            "read -r a <&3; read -r b <&3; echo $a; "
            "printf 'GET /x HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n' >&3; tail -n 1 <&3")

    ran = shell.run(Command(("bash", "-c", line)), tmp_path / "work",
                    reach=Reach(("allowed.example",)))

    assert ran.output.replace("\r", "") == (
        "HTTP/1.1 200 Connection established\nyou asked for /x of h\n")


def test_around_the_proxy_there_is_no_way(shell: Shell, tmp_path: Path, server: HTTPServer) -> None:
    line = f"unset http_proxy; exec 3<>/dev/tcp/127.0.0.1/{server.server_port}"

    ran = shell.run(Command(("bash", "-c", line)), tmp_path / "work",
                    reach=Reach(("allowed.example",)))

    assert ran.exit != 0


def test_without_a_grant_there_is_no_proxy(shell: Shell, tmp_path: Path) -> None:
    ran = shell.run(Command(("bash", "-c", "env | grep -i proxy; exec 3<>/dev/tcp/127.0.0.1/3128")),
                    tmp_path / "work")

    assert ran.exit != 0
    assert "3128" not in ran.output.split("bash:")[0]


@pytest.mark.parametrize("address", [
    "127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "0.0.0.0", "::1",
    "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::",
    "100.64.0.1", "224.0.0.1", "not an address",
])
def test_a_listed_name_that_leads_to_a_private_address_is_refused(address: str) -> None:
    dialled: list[str] = []

    def dial(address: str, port: int) -> socket.socket:
        dialled.append(address)
        raise OSError

    egress = Egress(["allowed.example"], lambda host, port: [address], dial)

    assert "not on the public internet" in str(egress.reached("allowed.example", 443))
    assert (dialled, egress.refused) == ([], [f"allowed.example:443 ({address})"])


def test_a_name_is_resolved_once_and_that_address_is_dialled() -> None:
    answers, dialled = [[PUBLIC], ["127.0.0.1"]], list[str]()

    def dial(address: str, port: int) -> socket.socket:
        dialled.append(address)
        return socket.socket()

    egress = Egress(["Allowed.Example"], lambda host, port: answers.pop(0), dial)
    found = egress.reached("allowed.example.", 443)

    assert isinstance(found, socket.socket)
    found.close()
    assert dialled == [PUBLIC]
    assert replace(egress).hosts == ["Allowed.Example"]
