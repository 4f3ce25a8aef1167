"""What the frameworks' training functions share: the epochs, the figure and the last lines.

A framework gives functions that train one epoch or evaluate; nothing here knows its arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lockstep.d2l import cell_progress, options
from lockstep.d2l.plotting import Animator, plot, pyplot, set_figsize
from lockstep.d2l.timer import Accumulator, Timer

PREFIXES = ("time traveller", "traveller")


def epochs(asked: int, most: int) -> int:
    """The epochs of a training function: as asked, or fewer in a quick run."""
    return options.shortened("epochs of a training", asked, most)


def train_text(
    run_epoch: Callable[[], tuple[float, float]],
    predict: Callable[[str], str],
    num_epochs: int,
    device: Any,
) -> None:
    """Train on text. `run_epoch` gives perplexity and tokens per second, `predict` continues."""
    num_epochs = epochs(num_epochs, options.current().epochs)
    every = max(1, num_epochs // 50)  # epochs between two points of the figure
    animator = Animator("epoch", "perplexity", ["train"], xlim=[every, num_epochs])
    perplexity = speed = float("nan")
    for epoch in range(1, num_epochs + 1):
        perplexity, speed = run_epoch()
        cell_progress.report(epoch / num_epochs)
        if epoch % every == 0:
            animator.add(epoch, [perplexity])
    print(f"perplexity {perplexity:.1f}, {speed:.1f} tokens/sec on {device}")
    for prefix in PREFIXES:
        print(predict(prefix))


def text_epoch(
    train_iter: Iterable[Any],
    use_random_iter: bool,
    begin: Callable[[int], Any],
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
) -> tuple[float, float]:
    """One epoch over windows of text; perplexity, and tokens per second.

    `begin(batch_size)` gives the first state. `step(X, Y, state)` updates, and gives the next state
    (no gradient passes it) and the mean loss.
    """
    state: Any = None
    timer, metric = Timer(), Accumulator(2)
    for X, Y in train_iter:
        if state is None or use_random_iter:
            state = begin(X.shape[0])
        state, value = step(X, Y, state)
        count = X.shape[0] * X.shape[1]
        metric.add(float(value) * count, count)
    return math.exp(metric[0] / metric[1]), metric[1] / timer.stop()


def train_classifier(
    run_epoch: Callable[[], Sequence[float]], evaluate: Callable[[], float], num_epochs: int
) -> None:
    """Train a classifier. `run_epoch` gives loss and accuracy on the training set."""
    animator = Animator(
        "epoch", xlim=[1, num_epochs], legend=["train loss", "train acc", "test acc"]
    )
    for epoch in range(1, num_epochs + 1):
        animator.add(epoch, (*run_epoch(), evaluate()))


def train_images(
    step: Callable[[Any, Any], tuple[float, float, int]],
    train_iter: Any,
    evaluate: Callable[[], float],
    num_epochs: int,
    device: Any,
) -> None:
    """Train on images. `step` updates on a batch and gives its sums: loss, hits, examples."""
    num_epochs = epochs(num_epochs, options.current().image_epochs)
    animator = Animator(
        "epoch", xlim=[1, num_epochs], legend=["train loss", "train acc", "test acc"]
    )
    timer, count = Timer(), len(train_iter)
    metric, accuracy = Accumulator(3), float("nan")
    for epoch in range(num_epochs):
        metric.reset()
        for place, (x, y) in enumerate(train_iter, 1):
            timer.start()
            metric.add(*step(x, y))
            timer.stop()
            if place % max(1, count // 5) == 0 or place == count:
                means = metric[0] / metric[2], metric[1] / metric[2]
                animator.add(epoch + place / count, (*means, None))
        accuracy = evaluate()
        animator.add(epoch + 1, (None, None, accuracy))
    speed = metric[2] * num_epochs / timer.sum()
    print(
        f"loss {metric[0] / metric[2]:.3f}, train acc {metric[1] / metric[2]:.3f}, "
        f"test acc {accuracy:.3f}\n{speed:.1f} examples/sec on {device}"
    )


def train_regression(
    step: Callable[[Any, Any], None],
    evaluate: Callable[[], float],
    data_iter: Any,
    num_epochs: int,
    num_batches: int,
) -> tuple[list[float], list[float]]:
    """Train on the airfoil data; the loss is measured after every 200 examples. The times of the
    measurements, without their own, and the losses."""
    animator = Animator("epoch", "loss", xlim=[0, num_epochs], ylim=[0.22, 0.35])
    n, timer = 0, Timer()
    for _ in range(num_epochs):
        for x, y in data_iter:
            step(x, y)
            n += x.shape[0]
            if n % 200 == 0:
                timer.stop()
                animator.add(n / x.shape[0] / num_batches, (evaluate(),))
                timer.start()
    print(f"loss: {animator.Y[0][-1]:.3f}, {timer.sum() / num_epochs:.3f} sec/epoch")
    return timer.cumsum(), animator.Y[0]


def evaluation_batches(data_iter: Iterable[Any]) -> Iterable[Any]:
    """The batches that a loss is measured on: all, or the first ones in a quick run."""
    most = options.current().loss_batches
    for place, batch in enumerate(data_iter):
        if options.current().quick and place >= most:
            options.note(f"batches of a loss evaluation: {most}")
            return
        yield batch


def train_2d(
    trainer: Callable[..., tuple[float, ...]], steps: int = 20, f_grad: Any = None
) -> list[tuple[float, float]]:
    """Minimize a function of two variables from (-5, -2); every point on the way.

    >>> train_2d(lambda x, y, s, t: (x / 2, y, s, t), steps=2)
    epoch 2, x1: -1.250000, x2: -2.000000
    [(-5, -2), (-2.5, -2), (-1.25, -2)]
    """
    x1, x2, s1, s2 = -5.0, -2.0, 0.0, 0.0
    results: list[tuple[float, float]] = [(-5, -2)]
    for _ in range(steps):
        state = (x1, x2, s1, s2)
        x1, x2, s1, s2 = trainer(*state, f_grad) if f_grad else trainer(*state)
        results.append((x1, int(x2) if x2 == -2 else x2))
    print(f"epoch {steps}, x1: {float(x1):f}, x2: {float(x2):f}")
    return results


def show_trace_2d(f: Callable[[Any, Any], Any], results: Sequence[tuple[float, float]]) -> None:
    """The path of `train_2d` over the contours of the function."""
    import numpy as np

    set_figsize()
    path = np.array([(float(a), float(b)) for a, b in results])
    plot(path[:, 0], path[:, 1], "x1", "x2", fmts=("-o",))
    first, second = np.meshgrid(np.arange(-5.5, 1.0, 0.1), np.arange(-3.0, 1.0, 0.1))
    pyplot().gca().contour(first, second, f(first, second), colors="#1f77b4")
