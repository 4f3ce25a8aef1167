"""The Time Machine by H. G. Wells, by characters. The stand-in has sentences of a small grammar."""

from __future__ import annotations

import re

from lockstep.checks import whole
from lockstep.data.characters import VOCABULARY_SIZE, Text, WindowBatch, make_text
from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.examples import origin_generated
from lockstep.data.fetch import read
from lockstep.data.folders import CACHE, NAMED
from lockstep.data.grammar import write_sentences
from lockstep.data.host import CHAPTERS
from lockstep.data.own_text import new_symbols
from lockstep.data.package_index import PipArchive
from lockstep.data.plans import WindowPlan
from lockstep.data.random import generator
from lockstep.data.source import DataFile, Edition, PlaceError, Progress, Source
from lockstep.spec import TextFile, TimeMachine


def between_markers(book: bytes) -> bytes:
    r"""What is between the START and END lines of a Project Gutenberg text.

    >>> between_markers(b"licence\r\n*** START OF X ***\r\n\r\nText.\r\n\r\n*** END OF X ***\r\n")
    b'Text.\r\n'
    """
    found = re.search(rb"\*\*\* START [^\r\n]*\*\*\*(.*)\*\*\* END ", book, re.DOTALL)
    if not found:
        raise PlaceError("the book has no START and END markers")
    return found[1].strip() + b"\r\n"


# a new text is read as a person's own file is, by the chapter's letters
READ_AS = TextFile(symbols="letters")
SOURCE = Source(
    "timemachine",
    "The Time Machine, H. G. Wells",
    (
        DataFile(
            ("timemachine.txt",),
            (
                Edition("d2l", "sha1", "090b5e7e70c295757f55df93cb0a180b9691891a"),
                Edition(
                    "gutenberg",
                    "sha256",
                    "189e9cbb57962da2d63343bf816ac1c2192d66bb4aee06238e0be4d0682210bd",
                ),
            ),
        ),
    ),
    (
        NAMED,
        CACHE,
        CHAPTERS,
        PipArchive(
            "proofread-eng-scifi==0.1.0",
            "87a82f77547f920a3eb6893b61a22fee7e8203184479271b2d474a515c72eb7c",
            "data/training/time_machine.txt",
            between_markers,
            ("--no-binary", "proofread-eng-scifi"),
        ),
    ),
    "H. G. Wells: The Time Machine, 1895; public domain. The edition `gutenberg` (curly quotes, "
    "contents list) is not the chapters' file, and its numbers differ",
    178_979,
)


def load(
    max_tokens: int | None = None, progress: Progress | None = None, *, remote: bool = True
) -> Text:
    """The Time Machine by characters; `origin.edition` says which edition was found.

    `remote=False` stays on this machine and raises MissingError where nothing is found.

    >>> from lockstep.data import find
    >>> find("timemachine") is None or len(load(max_tokens=9_000).tokens) == 9_000
    True
    """
    contents = read(SOURCE, progress, remote=remote)
    return make_text(contents.files[0].decode("utf-8"), contents.found.origin, max_tokens)


def generate(num_characters: int = 60_000, seed: int = 0, max_tokens: int | None = None) -> Text:
    """At least `num_characters` of grammatical lower-case sentences, by characters.

    >>> made = generate(num_characters=100)
    >>> len(made.tokens) >= 100, len(made.vocabulary), made.origin.edition
    (True, 28, 'generated, seed 0')
    """
    whole("num_characters", num_characters)
    raw = write_sentences(num_characters, generator(seed, "generated text"))
    return make_text(raw, origin_generated("text", seed, raw.encode()), max_tokens)


def _text(part: TimeMachine, seed: int, progress: Progress | None) -> Text:
    if part.source == "real":
        return load(part.max_tokens, progress)
    return generate(seed=seed, max_tokens=part.max_tokens)


def _load(part: TimeMachine, seed: int, progress: Progress | None) -> Loaded:
    text = _text(part, seed, progress)
    return Loaded({"train": {"tokens": text.tokens}}, text.origin, text.vocabulary)


def _settled(part: TimeMachine, seed: int) -> Encoding:
    symbols = _text(part, seed, None).vocabulary.symbols
    return Encoding((), VOCABULARY_SIZE, "cross_entropy", symbols=symbols)


def _plan(part: TimeMachine, num_tokens: int, batch_size: int, seed: int) -> WindowPlan:
    return WindowPlan(num_tokens, batch_size, part.window, part.sampling, seed)


DATA_SET = DataSet(
    _load,
    input_shape=(),
    num_outputs=VOCABULARY_SIZE,
    loss="cross_entropy",
    batch=lambda part: WindowBatch(part.window),
    plan=_plan,
    source=SOURCE,
    features=lambda part, encoding, given: new_symbols(READ_AS, encoding, given),
    settled=_settled,
)
