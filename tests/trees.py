"""Random messes in a worktree, for the property of `restore`."""

import os
import shutil
import stat
from pathlib import Path
from random import Random

NAMES = [b"a", b"A", b"b.txt", b"dir", b"-x", b":x", b"*", b"a b ", b"new\nline", b"\xff\xfe",
         "ü".encode(), b".gitattributes", b".gitignore", b"x.log", b"q" * 200, b"build"]
CONTENTS = [b"", b"one\ntwo\n", b"crlf\r\nlines\r\n", b"\0\xff binary", b"$Id$", b"*.log\nbuild/\n",
            b"* text eol=crlf\n", b"!*.log\n"]
MODES = [0o644, 0o755, 0o600, 0o444, 0o700, 0o640]


def content(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Everything of a worktree that a snapshot promises: kinds, modes, bytes, targets of links."""
    found: dict[bytes, tuple[object, ...]] = {}
    _look(os.fsencode(root), b"", found)
    return found


def _look(root: bytes, path: bytes, found: dict[bytes, tuple[object, ...]]) -> None:
    for entry in os.scandir(root + b"/" + path):
        here, about = path + entry.name, entry.stat(follow_symlinks=False)
        kind, mode = stat.S_IFMT(about.st_mode), stat.S_IMODE(about.st_mode)
        if stat.S_ISDIR(about.st_mode):
            found[here] = (kind, mode)
            _look(root, here + b"/", found)
        elif stat.S_ISLNK(about.st_mode):
            found[here] = (kind, str(Path(os.fsdecode(entry.path)).readlink()))
        elif stat.S_ISREG(about.st_mode):
            found[here] = (kind, mode, Path(os.fsdecode(entry.path)).read_bytes())
        else:
            found[here] = (kind, mode)


def mess(root: Path, random: Random, times: int) -> None:
    """Do so many random things to a worktree."""
    deeds = [write, write, write, rewrite_in_the_same_second, link, folder, chmod, remove, swap,
             fifo, move, recase, nest, damage_nested]
    for _ in range(times):
        deed = random.choice(deeds)
        try:
            deed(root, random)
        except (OSError, IndexError):
            continue  # something else stands there: as good a mess


def _place(root: Path, random: Random) -> Path:
    """A place for something new, in a folder that is there."""
    folders = [root, *(p for p in root.rglob("*") if p.is_dir() and not p.is_symlink()
                       and ".git" not in p.parts)]
    return random.choice(folders) / os.fsdecode(random.choice(NAMES))


def _some(root: Path, random: Random) -> Path:
    return random.choice(sorted(p for p in root.rglob("*") if ".git" not in p.parts))


def write(root: Path, random: Random) -> None:
    place = _place(root, random)
    if place.is_fifo():
        place.unlink()  # to open one is to wait for somebody at its other end
    place.write_bytes(random.choice(CONTENTS) + bytes([random.randrange(65, 90)]))
    place.chmod(random.choice(MODES))


def rewrite_in_the_same_second(root: Path, random: Random) -> None:
    """Another content of the same size, with the old time put back (git compares seconds)."""
    place = _some(root, random)
    if place.is_file() and not place.is_symlink():
        before, data = place.stat(), place.read_bytes()
        place.write_bytes(data[::-1])
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def link(root: Path, random: Random) -> None:
    _place(root, random).symlink_to(random.choice(["a", "/etc", "nowhere", "../dir", ".git"]))


def folder(root: Path, random: Random) -> None:
    _place(root, random).mkdir()


def chmod(root: Path, random: Random) -> None:
    place = _some(root, random)
    if not place.is_symlink():
        place.chmod(random.choice([0o755, 0o700, 0o555] if place.is_dir() else MODES))


def remove(root: Path, random: Random) -> None:
    remove_at(_some(root, random))


def swap(root: Path, random: Random) -> None:
    """A file becomes a folder, a link or a FIFO, or the other way round."""
    place = _some(root, random)
    remove_at(place)
    match random.randrange(4):
        case 0:
            place.write_bytes(b"was something else")
        case 1:
            place.mkdir()
            (place / "inside").write_bytes(b"x")
        case 2:
            place.symlink_to("a")
        case _:
            os.mkfifo(place)


def remove_at(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def fifo(root: Path, random: Random) -> None:
    place = _place(root, random)
    if not place.name.startswith(".git"):
        os.mkfifo(place)


def move(root: Path, random: Random) -> None:
    _some(root, random).rename(_place(root, random))


def recase(root: Path, random: Random) -> None:
    place = _some(root, random)
    place.rename(place.with_name(place.name.swapcase()))


def nest(root: Path, random: Random) -> None:
    """A repository of its own: broken, without a commit, or a `.git` file."""
    place = _place(root, random)
    place.mkdir(exist_ok=True)
    inner = place / ".git"
    if random.random() < 0.3:
        inner.write_bytes(b"gitdir: ../elsewhere\n")
        return
    (inner / "objects/pack").mkdir(parents=True)
    (inner / "refs/heads").mkdir(parents=True)
    (inner / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (inner / "config").write_bytes(b"[core]\n\tfsmonitor = touch /tmp/owned\n")
    (place / "nested.txt").write_bytes(b"content of a nested repository\n")


def damage_nested(root: Path, random: Random) -> None:
    inner = random.choice([path for path in sorted(root.rglob(".git")) if path.parent != root])
    match random.randrange(4):
        case 0:
            remove_at(inner)
        case 1:
            (inner / "HEAD").write_bytes(b"x")
        case 2:
            (inner / "refs/heads/main").write_bytes(b"0" * 40)
        case _:
            shutil.rmtree(inner.parent)
