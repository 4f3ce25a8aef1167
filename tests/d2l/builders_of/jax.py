"""JAX, whose chapters train otherwise: an update rule gives new parameters."""

from __future__ import annotations

from typing import Any

import jax
from jax import numpy as jnp


def sgd_rule(params: Any, grads: Any, states: Any, hyperparams: Any) -> list[Any]:
    return [p - hyperparams["lr"] * g for p, g in zip(params, grads, strict=True)]


def train_ch8(d2l: Any, batches: Any, vocab: Any) -> str:
    def get_params(vocab_size: int, num_hiddens: int) -> list[Any]:
        shapes = [(vocab_size, num_hiddens), (num_hiddens, num_hiddens), (num_hiddens, vocab_size)]
        weights = [d2l.normal(0.0, 0.3, shape) for shape in shapes]
        return [*weights, jnp.zeros(num_hiddens), jnp.zeros(vocab_size)]

    def init_state(batch_size: int, num_hiddens: int) -> tuple[Any]:
        return (jnp.zeros((batch_size, num_hiddens)),)

    def forward(inputs: Any, state: Any, params: Any) -> Any:
        w_xh, w_hh, w_hq, b_h, b_q = params

        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(x @ w_xh + h @ w_hh + b_h)
            return h, h @ w_hq + b_q

        last, out = jax.lax.scan(step, state[0], inputs)
        return out.reshape(-1, out.shape[-1]), (last,)

    net = d2l.RNNModelScratch(len(vocab), 16, get_params, init_state, forward)
    d2l.train_ch8(net, batches, vocab, 1.0, 60)
    return str(d2l.predict_ch8("ab", 6, net, vocab))
