"""A small grammar that writes readable sentences; the words are chosen to share few endings.

sentence: [opening] person verb thing [place] [joint person verb thing]
"""

from __future__ import annotations

import numpy as np

OPENINGS = ("once ", "at night ", "in the morning ", "after a while ", "and then ", "", "", "")
ARTICLES = ("the ", "a ", "every ", "that ")
QUALITIES = ("", "", "wise ", "quiet ", "young ", "strange ", "brave ", "patient ", "lazy ")
PERSONS = (
    "time traveller", "traveller", "doctor", "mayor", "writer", "child", "king", "judge", "fox",
    "wizard",
)  # fmt: skip
VERBS = (
    " watched ", " followed ", " found ", " lost ", " described ", " examined ", " bought ",
    " quietly took ", " had never seen ", " wished for ",
)  # fmt: skip
THINGS = (
    "machine", "lamp", "garden", "river", "book of maps", "silver key", "box of jewels",
    "white sphinx", "clock", "green jacket", "letter", "fire",
)  # fmt: skip
SPOTS = ("", "", " near the hill", " by the sea", " in the city", " under the bridge", " at home")
JOINTS = (" and ", " but ", " while ", " because ")


def write_sentences(num_characters: int, rng: np.random.Generator) -> str:
    """At least `num_characters` of lower-case letters and single spaces.

    >>> from lockstep.data.random import generator
    >>> write_sentences(40, generator(1, "doctest"))
    'at night a quiet traveller examined every river and a traveller watched the machine'
    """
    sentences: list[str] = []
    length = 0
    while length <= num_characters:  # the last sentence has no space after it
        for draw in rng.random((256, 16)):
            sentences.append(_sentence(draw.tolist()))
            length += len(sentences[-1]) + 1
            if length > num_characters:
                break
    return " ".join(sentences)


def _sentence(draw: list[float]) -> str:
    opening = _pick(OPENINGS, draw[0])
    first = _clause(draw[1:7])
    spot = _pick(SPOTS, draw[7])
    if draw[8] < 0.6:
        return f"{opening}{first}{spot}"
    return f"{opening}{first}{spot}{_pick(JOINTS, draw[9])}{_clause(draw[10:])}"


def _clause(draw: list[float]) -> str:
    kinds = (ARTICLES, QUALITIES, PERSONS, VERBS, ARTICLES, THINGS)
    return "".join(_pick(words, number) for words, number in zip(kinds, draw, strict=True))


def _pick(words: tuple[str, ...], number: float) -> str:
    return words[int(number * len(words))]
