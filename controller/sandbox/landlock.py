"""Landlock (landlock(7)) by its three system calls: what a process may do to files, itself and all
that it starts, for ever.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

NEEDED = 3
"""The oldest version of its interface (ABI) that also confines truncation."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2  # prctl(2)

_EXECUTE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _TRUNCATE, _DEVICE = 1 << 1, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # then 1 << 16
_TCP = 0b11  # LANDLOCK_ACCESS_NET_BIND_TCP, _CONNECT_TCP, from version 4 on
_SCOPES = 0b11  # abstract unix sockets and signals, from version 6 on

_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The version of the interface that this kernel has; 0: none, or it is switched off."""
    found = int(_libc.syscall(_CREATE, None, 0, 1))
    return max(found, 0)


def restrict(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> None:
    """Confine this process: files below `readable` may be read and run, those below `writable` be
    changed too, and nothing else; no TCP unless `network`.

    Paths that it can't reach are left out. Raises OSError when the kernel can't enforce it.
    """
    abi = version()
    if abi < NEEDED:
        raise OSError(f"Landlock has version {abi} here; {NEEDED} is needed")
    handled = _RIGHTS.get(abi, (1 << 16) - 1)
    tcp = _TCP if abi >= 4 and not network else 0
    scopes = _SCOPES if abi >= 6 else 0
    attributes = struct.pack("=QQQ", handled, tcp, scopes)[:8 * (1 + (abi >= 4) + (abi >= 6))]
    rules = _call(_CREATE, attributes, len(attributes), 0)
    for paths, rights in ((readable, _READ), (writable, handled)):
        for path in paths:
            _allow(rules, path, rights & handled)
    forget_privileges()
    _call(_RESTRICT, rules, 0)
    os.close(rules)


def filtered(program: bytes) -> None:
    """Put this process under a system call filter (seccomp(2)) of raw BPF."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    if _libc.prctl(_SECCOMP, _FILTER, ctypes.create_string_buffer(head), 0, 0):
        raise OSError(ctypes.get_errno(), "the system call filter is refused")


def forget_privileges() -> None:
    """Let nothing that this process runs gain privileges (PR_SET_NO_NEW_PRIVS)."""
    if _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs is refused")


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):  # what it can't reach needs no leave
        return
    try:
        allowed = rights if Path(path).is_dir() else rights & _OF_FILES
        _call(_ADD, rules, _BENEATH, struct.pack("=Qi", allowed, place), 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: int | bytes) -> int:
    """A system call. A number of 64 bits is what it takes in any place."""
    passed = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    found = int(_libc.syscall(ctypes.c_long(number), *passed))
    if found < 0:
        raise OSError(ctypes.get_errno(), "Landlock: " + os.strerror(ctypes.get_errno()))
    return found
