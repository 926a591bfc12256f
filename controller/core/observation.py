"""What the next step is shown: bounded text, whole where it fits, head and tail where not.

The tail gets the larger share: tools say last what they found.
"""

LIMIT = 12 * 1024
"""Bytes of one observation, at most."""


def bounded(text: str, limit: int = LIMIT, artifact: str | None = None) -> str:
    """`text` in at most `limit` bytes of UTF-8, with what is missing named in its place.

    >>> bounded("short")
    'short'
    >>> len(bounded("é" * 9000, 400).encode()) <= 400
    True
    """
    data = text.encode("utf-8", "backslashreplace")  # a file name need not be UTF-8
    if len(data) <= limit:
        return data.decode()
    where = f"; whole: recall {artifact}" if artifact else ""
    gap = f"\n[… {len(data) - limit} or more of {len(data)} bytes left out{where} …]\n"
    room = max(0, limit - len(gap.encode()))
    head, tail = data[:room // 3], data[len(data) - room * 2 // 3:] if room else b""
    return _whole(head) + gap + _whole(tail)


def quoted(path: str) -> str:
    """A path as one word on one line, whatever is in it.

    >>> quoted("src/a.py"), quoted("odd\\nname")
    ('src/a.py', '"odd\\\\nname"')
    """
    import json

    return path if path.isprintable() else json.dumps(path)


def line(text: str, limit: int = 160) -> str:
    """The first line of `text`, cut to `limit` characters.

    >>> line("one\\ntwo")
    'one'
    """
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= limit else first[:limit - 1] + "…"


def correction(title: str, body: str, shown: str) -> str:
    """What follows a step that did not commit: why, and what it had been shown.

    Nothing learned is lost: the facts of `shown` were never projected into the state.
    """
    why = bounded(f"{title}\n{body}", LIMIT // 2)
    room = LIMIT - len(why.encode()) - 80
    return f"{why}\n\nBefore that, you were shown:\n{bounded(_unwrapped(shown), room)}"


def _unwrapped(shown: str) -> str:
    """What a corrected step was shown itself, so that corrections don't nest."""
    return shown.rpartition("\n\nBefore that, you were shown:\n")[2]


def _whole(data: bytes) -> str:
    return data.decode("utf-8", "ignore")
