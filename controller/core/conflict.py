"""Does what the user says now contradict what he has locked? A person answers; we only notice.

No list of words understands a sentence. Two texts that speak of the same things, one of which takes
something back, are put before the user side by side. What is missed here the model can file.
"""

import re

from controller.core.contract import Contract, Item

_TAKES_BACK = re.compile(
    r"(?i)\b(?:not|never\s?mind|no longer|any ?more|instead|rather|forget|ignore|drop|skip|stop|"
    r"without|except|unless|don'?t|doesn'?t|needn'?t|isn'?t|can'?t|cannot|no need|remove|"
    r"allow(?:ed)?|may|change|replace|switch|relax|waive|local|other)\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_EMPTY = frozenset((
    "the", "and", "for", "are", "was", "were", "with", "that", "this", "must", "have", "has",
    "had", "not", "but", "you", "your", "our", "use", "uses", "used", "all", "any", "every",
    "each", "keep", "keeps", "stay", "stays", "from", "into", "when", "then", "than", "its",
    "itself", "them", "they", "there", "should", "shall", "will", "would", "can", "could",
    "may", "only", "also", "never", "always", "please", "now", "just", "don", "does", "doesn",
    "need", "instead", "rather", "forget", "ignore", "drop", "skip", "stop",
))
_SHARED = 2  # words that two texts about one thing have in common


def contradicted(text: str, contract: Contract) -> Item | None:
    """The locked requirement that a message seems to take back, if there is one.

    >>> from controller.core.contract import Contract, Item
    >>> locked = Contract("g", (), (Item("requirement-1", "CSV timestamps are written in UTC"),))
    >>> contradicted("write CSV timestamps in local time instead", locked).id
    'requirement-1'
    >>> contradicted("the fixture is in tests/conftest.py", locked)
    """
    words = _words(text)
    for item in contract.locked_requirements:
        shared = words & _words(item.text)
        other = {*_NUMBER.findall(text)} ^ {*_NUMBER.findall(item.text)}
        numbers = bool(other) and bool(_NUMBER.search(text)) and bool(_NUMBER.search(item.text))
        if len(shared) >= _SHARED and (_TAKES_BACK.search(text) or numbers):
            return item
    return None


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word.lower()) for word in _WORD.findall(text)) - _EMPTY


def _stem(word: str) -> str:
    """So much of a word that its forms look the same."""
    return re.sub(r"(?:ing|ed|es|s)$", "", word) if len(word) > 4 else word
