"""Secrets, by the marks that their issuers gave them. Found, named by rule, never repeated.

Every pattern begins with fixed characters and repeats bounded classes only, so matching is linear.
"""

import re

RULES: dict[str, re.Pattern[str]] = {
    "anthropic key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{16,200}"),
    "openai key": re.compile(r"\bsk-(?!ant-)[A-Za-z0-9_-]{20,200}"),
    "github token": re.compile(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    "gitlab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,64}"),
    "aws access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,200}"),
    "google key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "json web token": re.compile(
        r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
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


def redact(text: str, held: tuple[str, ...] = ()) -> str:
    """`text` with every match, and every secret in `held`, replaced by the name of its rule.

    >>> redact("https://me:hunter2@example.org/x")
    'https://[redacted: password in a url]@example.org/x'
    """
    for secret in held:
        text = text.replace(secret, "[redacted: held secret]") if secret else text
    for name, pattern in RULES.items():
        text = pattern.sub(f"[redacted: {name}]", text)
    return text


def clean(output: bytes) -> str:
    """What a command wrote, as it may go on: printable first, so that nothing hides a secret."""
    return redact(printable(output.decode("utf-8", "replace")))


_CONTROL = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """`text` without what would move a cursor, ring a bell or hide something from a person.

    >>> printable("a\\x1b[31mred\\x1b[0m\\r\\nb\\x00")
    'ared\\nb'
    """
    return _CONTROL.sub("", text)
