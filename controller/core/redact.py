"""Secrets: those that we hold, by their value, and others by the marks that their issuers gave.
Found, named by rule, never repeated.

Every pattern begins with fixed characters and repeats bounded classes only, and begins where no
word goes on, so matching is linear: no input can hang it.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, quote_plus

RULES: dict[str, re.Pattern[str]] = {
    "anthropic key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{16,200}"),
    "openai key": re.compile(r"\bsk-(?!ant-)[A-Za-z0-9_-]{20,200}"),
    "github token": re.compile(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    "gitlab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,64}"),
    "aws access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "stripe key": re.compile(r"\b[sr]k_live_[A-Za-z0-9]{16,200}"),
    "slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,200}"),
    "google key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "json web token": re.compile(
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
    "private key": re.compile(
        r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,8000}"),
    "password in a url": re.compile(r"(?<=://)[^\s/:@]{1,100}:[^\s/@]{3,200}(?=@)"),
}
"""Rule name -> what it looks for."""


def found(text: str) -> tuple[str, ...]:
    """The names of the rules that match somewhere in `text`.

    >>> found("token = ghp_" + "a" * 36)
    ('github token',)
    """
    return tuple(name for name, pattern in RULES.items() if pattern.search(text))


def redact(text: str) -> str:
    """`text` with every match replaced by the name of its rule.

    >>> redact("https://me:hunter2@example.org/x")
    'https://[redacted: password in a url]@example.org/x'
    """
    for name, pattern in RULES.items():
        text = pattern.sub(f"[redacted: {name}]", text)
    return text


def showable(text: str) -> str:
    """`text` with nothing in it that moves a cursor, hides, or has the mark of a secret.

    >>> showable("\\x1b[31mhttps://me:hunter2@example.org")
    'https://[redacted: password in a url]@example.org'
    """
    return redact(printable(text))


@dataclass(frozen=True, slots=True)
class Redactor:
    """The funnel: what goes on of a text to log, state, prompt, report or terminal.

    `held` are secrets that we have, found in any of their usual encodings. `canary` is no secret:
    it lies where only somebody who gathers secrets looks.
    """

    held: frozenset[str] = field(default=frozenset(), repr=False)
    canary: str = field(default="", repr=False)

    def clean(self, output: bytes) -> str:
        """What a command wrote, as it may go on."""
        return self.text(output.decode("utf-8", "replace"))

    def text(self, text: str) -> str:
        """`text` as it may go on: printable first, so that nothing hides a secret in it."""
        text = printable(_UNSEEN.sub("", text) if self._patterns and self.holds(text) else text)
        for pattern, name in self._patterns:
            text = pattern.sub(f"[redacted: {name}]", text)
            if pattern.search(_SPACE.sub("", text)):
                return f"[redacted: text that spells a {name}, {len(text)} characters]"
        return redact(text)

    def holds(self, text: str) -> str:
        """`held secret` or `canary`, when one is in a text in any encoding, or spread over it."""
        patterns = self._patterns
        if not patterns:
            return ""
        together = _SPACE.sub("", printable(_UNSEEN.sub("", text)))
        return next((name for pattern, name in patterns if pattern.search(together)), "")

    @property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        found = ((_pattern(self.held), "held secret"),
                 (_pattern(frozenset({self.canary} - {""})), "canary"))
        return tuple((pattern, name) for pattern, name in found if pattern)


_SPACE = re.compile(r"\s+")
_SHORTEST = 6
"""What is shorter is in too many texts by chance to be hidden."""


def secret_values(certain: Iterable[str], possible: Iterable[str] = ()) -> frozenset[str]:
    """The values that are worth hiding: of certain secrets all but the shortest, of other values
    those that are no paths.

    >>> sorted(secret_values(["/wJalr/XU", "x"], ["src", "/usr/lib", "hunter2-hunter2"]))
    ['/wJalr/XU', 'hunter2-hunter2']
    """
    likely = [value for value in possible if not value.startswith(("/", ".", "~"))]
    return frozenset(value for value in (*certain, *likely)
                     if len(value) >= _SHORTEST and not value.isspace())


def encodings(secret: str) -> Iterator[str]:
    """The forms that a secret usually takes: as it is, in base64 at each offset, hex, percent
    encoding, JSON, backwards.
    """
    data = secret.encode("utf-8", "surrogateescape")
    yield from (secret, secret[::-1], data.hex(), data.hex().upper(), quote(secret),
                quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1])
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
        # The characters at both ends are shared with what stands beside the secret.
        inner = whole[(0, 2, 3)[offset]:len(whole) - (1 if (len(data) + offset) % 3 else 0)]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


@lru_cache(maxsize=16)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    forms = sorted({form for secret in secrets for form in encodings(secret)
                    if len(form) >= _SHORTEST}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, forms))) if forms else None


_CONTROL = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """`text` without what would move a cursor, ring a bell or hide something from a person.

    >>> printable("a\\x1b[31mred\\x1b[0m\\r\\nb\\x00")
    'ared\\nb'
    >>> printable("user\\u202e")
    'user<U+202E>'
    """
    shown = _CONTROL.sub("", text)
    return shown if shown.isascii() else _UNSEEN.sub(lambda hit: f"<U+{ord(hit[0]):04X}>", shown)


HIDDEN = frozenset({
    0x200B, 0x200C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x00AD,
    0x034F, 0x061C, 0x115F, 0x1160, 0x180E, 0x3164, 0xFFA0, *range(0xFE00, 0xFE0F),
    *range(0xE0000, 0xE01F0)})
"""Zero-width, bidirectional, filling, variation and tag characters: text that a person can't see or
sees elsewhere. U+200D and U+FE0F are part of emoji and of several scripts.
"""

_UNSEEN = re.compile("[" + "".join(map(chr, sorted(HIDDEN))) + "]")
