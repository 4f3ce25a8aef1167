"""Recall: what the sequences are, and that their labels, batches and metrics are time first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.spec import Recall
from lockstep.task import assemble, model_of

SMALL = {"data.num_symbols": 3, "data.window": 5, "data.num_sequences": 40, "batch_size": 8}


def spec(**fields: Any) -> ls.RunSpec:
    return ls.recipes.recall_gru(**SMALL | {"model.num_hiddens": 6} | fields)


def test_a_sequence_is_a_cue_and_distractors() -> None:
    splits = assemble(spec(**{"data.num_sequences": 3000})).splits
    for split, count in (("train", 3000), ("test", 1000)):
        x, y = splits[split]["x"], splits[split]["y"]
        assert x.shape == y.shape == (count, 5)
        assert x.dtype == y.dtype == np.int32
        assert (y == x[:, :1]).all()
        # every cue and every distractor, about equally often: five standard deviations
        for values, lowest in ((x[:, 0], 0), (x[:, 1:].ravel(), 3)):
            counts = np.bincount(values - lowest, minlength=3)
            share = len(values) / 3
            assert len(counts) == 3
            assert abs(counts - share).max() < 5 * math.sqrt(share * 2 / 3)


def test_splits_and_seeds_are_different_and_repeat() -> None:
    one, again, other = (assemble(spec(seed=seed)) for seed in (0, 0, 1))
    for split in ("train", "test"):
        np.testing.assert_array_equal(one.splits[split]["x"], again.splits[split]["x"])
    assert (one.splits["train"]["x"] != other.splits["train"]["x"]).any()
    assert (one.splits["train"]["x"] != one.splits["test"]["x"][:40]).any()
    assert one.facts["place"] == "generated"
    assert one.facts["digest"] == again.facts["digest"] != other.facts["digest"]


def test_its_model_has_a_score_for_every_symbol() -> None:
    assert model_of(spec()).initial_weights(0)["w_x"].shape == (6, 18)
    assert model_of(spec(**{"data.num_symbols": 7})).initial_weights(0)["w_out"].shape == (6, 14)


def test_batches_are_full_and_time_first_and_carry_nothing() -> None:
    task = assemble(spec(**{"data.num_sequences": 43}))
    assert task.plan.num_batches == 5
    assert not task.carries_state
    rows = task.plan.epoch(0)[0][0]
    ops = NumpyOps("float64")
    x, y = task.batch(ops, task.splits["train"], rows)
    np.testing.assert_array_equal(x, task.splits["train"]["x"][rows].T)
    np.testing.assert_array_equal(y, np.tile(x[0], (5, 1)))
    assert task.count("test") == 5 * 1000


@pytest.mark.parametrize("model", ["rnn", "gru", "one-gate"])
def test_metrics_are_over_every_label(model: str) -> None:
    run = spec(precision="float64", evaluate=("train", "test"), model=model)
    result = ls.train(run.with_fields({"model.num_hiddens": 6}))
    ops = NumpyOps("float64")
    for split, prefix in (("train", "final_train"), ("test", "test")):
        x, y = (result.task.splits[split][name].T for name in ("x", "y"))
        carry = {"h": np.zeros((x.shape[1], 6))}
        scores, _ = result.task.model.apply(ops, result.weights, x, carry)
        logs = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
        loss = -np.take_along_axis(logs, y[..., None], axis=-1).mean()
        found = result.metrics
        # float64 sums in another order
        assert found[f"{prefix}_loss"] == pytest.approx(loss, rel=1e-12)
        assert found[f"{prefix}_perplexity"] == pytest.approx(math.exp(loss), rel=1e-12)
        assert found[f"{prefix}_accuracy"] == (scores.argmax(-1) == y).mean()
    assert result.metrics["train_perplexity"] == math.exp(result.metrics["train_loss"])


@pytest.mark.parametrize("field", ["num_symbols", "window", "num_sequences"])
def test_counts_must_be_positive(field: str) -> None:
    with pytest.raises(InputError, match=rf"data\.{field} = 0"):
        Recall(**{field: 0})


def test_a_batch_that_is_larger_than_the_data_is_refused() -> None:
    with pytest.raises(InputError, match=r"batch_size = 64: is larger than the data"):
        ls.train(spec(batch_size=64))


def test_it_is_always_generated() -> None:
    assert spec(**{"data.source": "generated"}) == spec()
    with pytest.raises(InputError, match=r"data\.source = 'real'"):
        spec(**{"data.source": "real"})


def test_it_is_no_text_to_continue() -> None:
    with pytest.raises(InputError, match="is not of a language model"):
        ls.train(spec(max_steps=1)).generate("a", 3)
