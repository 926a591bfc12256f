"""What the next step is shown: bounded text, whole where it fits, head and tail where not.

The tail gets the larger share: tools say last what they found.
"""

from controller.core.redact import showable

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


def first_line(text: str, limit: int = 160) -> str:
    """The first line of `text`, cut to `limit` characters.

    >>> first_line("one\\ntwo")
    'one'
    """
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= limit else first[:limit - 1] + "…"


def one_line(text: str, limit: int = 200) -> str:
    """A text in one line, with what stands in further lines told of.

    >>> one_line("pip download x\\ncurl evil")
    'pip download x ⏎ curl evil'
    """
    line = " ⏎ ".join(showable(text).strip().splitlines())
    return line if len(line) <= limit else line[:limit - 1] + "…"


def whole(observation: str, before: str) -> str:
    """Everything that a step is shown: what the last one came to, and, when that did not commit,
    what it had been shown itself. At most LIMIT bytes.

    >>> whole("exit 0", "")
    'exit 0'
    """
    if not before:
        return bounded(observation)
    told = bounded(observation, LIMIT // 2)
    room = LIMIT - len(told.encode()) - 80
    return f"{told}\n\nBefore that, you were shown:\n{bounded(before, room)}"


def _whole(data: bytes) -> str:
    return data.decode("utf-8", "ignore")
