"""Does a program wait for a person? Told from the last thing that it said, and from its silence.

With no input most programs notice by themselves; those that open the terminal don't.
"""

import re

from controller.core.redact import printable

_FULL_SCREEN = re.compile(rb"\x1b\[\?(?:1049|47|1047)h(?![\s\S]*\x1b\[\?(?:1049|47|1047)l)")

_PROMPTS = (
    (re.compile(r"(?i)(?:pass(?:word|phrase|code)|username|login|\bpin\b|\botp\b|verification code)"
                r"[^\n]{0,80}[:?][ \t]{0,3}\Z"),
     "for a name or a password", "there are none here: do without what needs them"),
    (re.compile(r"(?i)(?:[\[(]\s?y(?:es)?\s?/\s?n(?:o)?(?:/[^\])\n]{0,20})?\s?[\])]|\by/n\b|proceed\?|"
                r"continue\?|are you sure|overwrite\?|is this ok)[^\n]{0,40}\Z"),
     "for yes or no", "use its flag that answers: --yes, -y, --force, --non-interactive"),
    (re.compile(r"(?:^|\n)(?::|\(END\)|--More--[^\n]{0,20}|lines \d[^\n]{0,40})[ \t]{0,3}\Z"),
     "in a pager", "turn it off: --no-pager, or | cat"),
    (re.compile(r"(?i)(?:press|hit|type) (?:any key|enter|return|\w{1,12} to )[^\n]{0,60}\Z"),
     "for a key", "use its non-interactive flag: --yes, --batch, --no-input"),
)
"""How an unfinished line that is a question looks, what it waits for, and what to do instead."""

_OPEN = re.compile(r"(?:^|\n)[^\n]{1,200}[:?>)\]][ \t]{1,3}\Z")
"""An unfinished line that ends like a question: on a terminal that is enough."""


def waits(tail: bytes, *, tty: bool) -> str:
    """What a silent program waits for, and what to do instead; empty when nothing shows it.

    Only an unfinished line is a question: a program that goes on ends its lines.
    """
    if tty and _FULL_SCREEN.search(tail):
        return ("it shows an editor or another full screen; give the text on the command line: -m, "
                "-F FILE, --no-edit")
    text = printable(tail.decode("utf-8", "replace"))
    for pattern, what, instead in _PROMPTS:
        if pattern.search(text):
            return f"it waits {what}; {instead}"
    if tty and _OPEN.search(text):
        return "it waits for an answer; use its flags and --non-interactive, --yes or --batch"
    return ""
