"""A system call filter as raw BPF (seccomp(2), seccomp_filter.rst), assembled here: no library.

What it denies is what an escape or a way around the other walls would need; nothing that compilers,
test suites or interpreters ask for. A process of another machine architecture is killed.
"""

import errno
import os
import struct
from collections.abc import Iterator

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of linux/audit.h."""

# name: (x86_64, aarch64), from the kernel's syscall tables; None: the machine has no such call
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "setns": (308, 268), "unshare": (272, 97),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "iopl": (172, None), "ioperm": (173, None), "syslog": (103, 116), "vhangup": (153, 58),
}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_IOCTL, _SOCKET, _KILL_CALL = (16, 29), (41, 198), (62, 129)

_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone(2) takes
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI types for its user; TIOCLINUX pastes
_SHARED = ((29, 194), (68, 186), (64, 190))  # shmget, msgget, semget: they outlive who made them
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK

_LOAD, _EQUAL, _ABOVE, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data


def program(*, sockets: bool, machine: str | None = None) -> bytes:
    """The filter, as `bwrap --seccomp` and prctl(2) take it. Raises KeyError for a machine that
    it is not written for.

    `sockets`: whether there are any, since the command has a network and a root of its own.
    """
    machine = machine or os.uname().machine
    column = list(_MACHINES).index(machine)
    code = [_statement(_LOAD, _ARCH), _jump(_EQUAL, _MACHINES[machine], 1, 0),
            _statement(_RETURN, _KILL), _statement(_LOAD, _NUMBER)]
    if machine == "x86_64":  # calls of the x32 ABI have this bit, and other numbers
        code += [_jump(_ABOVE, 0x40000000, 0, 1), _statement(_RETURN, _KILL)]
    code += _denied_equal(tuple(number for numbers in _DENIED.values()
                                if (number := numbers[column]) is not None))
    # Its flags lie behind a pointer; a C library that is told that there is none uses clone.
    code += [_jump(_EQUAL, _CLONE3[column], 0, 1), _statement(_RETURN, _ERROR | errno.ENOSYS)]
    code += _judged(_CLONE[column], 0, _denied_any(_NAMESPACES))
    code += _judged(_IOCTL[column], 1, _denied_equal(_TERMINAL))
    if not sockets:  # no process namespace either: -1 would be everybody of the same user
        code += _judged(_KILL_CALL[column], 0, _denied_equal((0xFFFFFFFF,)))
        code += _denied_equal(tuple(numbers[column] for numbers in _SHARED))
    # Without a network and a root of its own it would reach this machine's, and D-Bus by a file.
    code += _judged(_SOCKET[column], 0, _allowed_equal(_FAMILIES if sockets else ()))
    return b"".join([*code, _statement(_RETURN, _ALLOW)])


def _judged(number: int, argument: int, rules: list[bytes]) -> Iterator[bytes]:
    """Rules over the low half of one argument of one call; then the number is loaded again."""
    yield _jump(_EQUAL, number, 0, len(rules) + 2)
    yield _statement(_LOAD, _ARGUMENTS + 8 * argument)
    yield from rules
    yield _statement(_LOAD, _NUMBER)


def _denied_any(flags: int) -> list[bytes]:
    return [_jump(_ANY, flags, 0, 1), _statement(_RETURN, _ERROR | errno.EPERM)]


def _denied_equal(values: tuple[int, ...]) -> list[bytes]:
    return [line for value in values for line in (
        _jump(_EQUAL, value, 0, 1), _statement(_RETURN, _ERROR | errno.EPERM))]


def _allowed_equal(values: tuple[int, ...]) -> list[bytes]:
    return [*(line for value in values for line in (
        _jump(_EQUAL, value, 0, 1), _statement(_RETURN, _ALLOW))),
        _statement(_RETURN, _ERROR | errno.EAFNOSUPPORT)]


def _statement(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)


def _jump(code: int, value: int, yes: int, no: int) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
