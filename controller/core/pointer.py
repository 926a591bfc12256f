"""JSON Pointer (RFC 6901): where in a reply or a state something stands."""

from collections.abc import Iterable


def pointer(*parts: str | int) -> str:
    """The pointer to what `parts` lead to.

    >>> pointer("files", "src/app.py", 0)
    '/files/src~1app.py/0'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def split(path: str) -> tuple[str, ...]:
    """The keys a pointer leads through. Raises ValueError when it is none.

    >>> split("/files/src~1app.py")
    ('files', 'src/app.py')
    """
    if path and not path.startswith("/"):
        raise ValueError(f"expected a path that begins with '/', got {path!r}")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown `word`: a guess if one is near, else what is known.

    >>> nearest("fact", ["facts", "plan"])
    "; did you mean 'facts'?"
    >>> nearest("x", ["facts", "plan"])
    '; expected one of facts, plan'
    """
    from difflib import get_close_matches

    choices = list(known)
    close = get_close_matches(word, choices, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; expected one of {', '.join(choices)}" if choices else ""
