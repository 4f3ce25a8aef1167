"""Recurrent models of text: the two wrappers of the chapters, their training and prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from lockstep.d2l.loops import text_epoch, train_text
from lockstep.d2l.text import Vocab, continued


class RNNModelScratch:
    """A model of functions: `forward_fn(inputs, state, params)` over one-hot inputs (T, B, V)."""

    def __init__(
        self, vocab_size: int, num_hiddens: int, init_state: Callable[..., Any],
        forward_fn: Callable[..., Any], get_params: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.vocab_size, self.num_hiddens = vocab_size, num_hiddens
        self.init_state, self.forward_fn = init_state, forward_fn
        self.trainable_variables = get_params(vocab_size, num_hiddens)

    def __call__(self, X: Any, state: Any) -> Any:
        inputs = tf.one_hot(tf.transpose(X), self.vocab_size, dtype=tf.float32)
        if not tf.executing_eagerly():  # while it is compiled: cells loop over the time steps
            inputs = tf.unstack(inputs)
        return self.forward_fn(inputs, state, self.trainable_variables)

    def begin_state(self, batch_size: int, *args: Any, **kwargs: Any) -> Any:
        return self.init_state(batch_size, self.num_hiddens)


class RNNModel(tf.keras.layers.Layer):
    """One of Keras' recurrent layers, and a dense layer to the vocabulary."""

    def __init__(self, rnn_layer: Any, vocab_size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rnn, self.vocab_size = rnn_layer, vocab_size
        self.dense = tf.keras.layers.Dense(vocab_size)

    def call(self, inputs: Any, state: Any) -> Any:
        X = tf.one_hot(tf.transpose(inputs), self.vocab_size)
        Y, *state = self.rnn(X, state)
        return self.dense(tf.reshape(Y, (-1, Y.shape[-1]))), state

    def begin_state(self, *args: Any, **kwargs: Any) -> Any:
        return self.rnn.cell.get_initial_state(*args, **kwargs)


def predict_ch8(prefix: str, num_preds: int, net: Any, vocab: Vocab) -> str:
    """The prefix, continued by the likeliest character so many times."""
    state = net.begin_state(batch_size=1, dtype=tf.float32)

    def follow(last: int) -> int:
        nonlocal state
        y, state = net(tf.constant([[last]]), state)
        return int(tf.argmax(y, axis=1)[0])

    return continued(prefix, num_preds, vocab, follow)


def grad_clipping(grads: Sequence[Any], theta: float) -> list[Any]:
    """The gradients, scaled so that the norm of all together is at most theta."""
    dense = [tf.convert_to_tensor(grad) for grad in grads]
    clipped: list[Any] = tf.clip_by_global_norm(dense, theta)[0]
    return clipped


def train_epoch_ch8(
    net: Any, train_iter: Iterable[Any], loss: Callable[..., Any], updater: Any,
    use_random_iter: bool, update: Callable[..., Any] | None = None,
) -> tuple[float, float]:  # fmt: skip
    """One epoch, gradients clipped at norm 1; perplexity, and tokens per second. `update` is what
    `_compiled` gives, if that was done before."""

    def begin(batch_size: int) -> Any:
        return net.begin_state(batch_size=batch_size, dtype=tf.float32)

    return text_epoch(train_iter, use_random_iter, begin, update or _compiled(net, loss, updater))


def _compiled(net: Any, loss: Callable[..., Any], updater: Any) -> Callable[..., tuple[Any, Any]]:
    """A function of inputs, labels and state that updates, and gives the next state and the loss.
    Operation by operation it would take ten times as long."""

    @tf.function(autograph=False, reduce_retracing=True)
    def step(X: Any, Y: Any, state: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            y_hat, state = net(X, state)
            value = loss(tf.reshape(tf.transpose(Y), [-1]), y_hat)
        params = net.trainable_variables
        grads = grad_clipping(tape.gradient(value, params), 1)
        updater.apply_gradients(zip(grads, params, strict=True))
        return state, value

    return step


def train_ch8(
    net: Any, train_iter: Iterable[Any], vocab: Vocab, lr: float, num_epochs: int, strategy: Any,
    use_random_iter: bool = False,
) -> None:  # fmt: skip
    """Train with SGD; in the end perplexity, speed and what the model writes."""
    with strategy.scope():
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        updater = tf.keras.optimizers.SGD(lr)
    update = _compiled(net, loss, updater)
    train_text(
        lambda: train_epoch_ch8(net, train_iter, loss, updater, use_random_iter, update),
        lambda prefix: predict_ch8(prefix, 50, net, vocab),
        num_epochs,
        strategy.extended.worker_devices[0],
    )
