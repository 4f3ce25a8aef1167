"""The chapters' text as batches of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mindspore as ms
import numpy as np

from lockstep.d2l import text

Pairs = Iterator[tuple[Any, Any]]


def _tensor(values: Any) -> Any:
    return ms.Tensor(np.asarray(values, np.int32))


def seq_data_iter_random(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.random_windows(corpus, batch_size, num_steps), _tensor)


def seq_data_iter_sequential(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.sequential_windows(corpus, batch_size, num_steps), _tensor)


def SeqDataLoader(
    batch_size: int, num_steps: int, use_random_iter: bool, max_tokens: int
) -> text.TextBatches:
    return text.TextBatches(batch_size, num_steps, use_random_iter, max_tokens, _tensor)


def load_data_time_machine(
    batch_size: int, num_steps: int, use_random_iter: bool = False, max_tokens: int = 10_000
) -> tuple[text.TextBatches, text.Vocab]:
    """Batches of The Time Machine by characters, and its vocabulary."""
    data_iter = SeqDataLoader(batch_size, num_steps, use_random_iter, max_tokens)
    return data_iter, data_iter.vocab
