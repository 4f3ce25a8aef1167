"""What TensorBoard's own reader finds in a folder."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read(folder: Path) -> EventAccumulator:
    """Everything in a run's folder, nothing thinned."""
    found = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    found.Reload()
    return found


def curve(found: EventAccumulator, name: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in found.Scalars(name)]


def text(found: EventAccumulator, name: str) -> str:
    (event,) = found.Tensors(name)
    return event.tensor_proto.string_val[0].decode()
