"""The five chapters, in PyTorch, quickly: every cell runs, and the results make sense."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lockstep.book import chapter, running
from lockstep.data import find


def results(path: Path, folder: Path) -> str:
    """What the cells of the chapter print, all of them having run."""
    if find("fashion-mnist") is None or find("timemachine") is None:
        pytest.skip("the data are not on this machine")
    found = chapter.read(path)
    done = running.run(found, running.settings_for(found, "pytorch", quick=True), folder)
    assert [item.executed.problem for item in done.cells] == [""] * len(done.cells)
    outputs = [output for item in done.cells for output in item.executed.outputs]
    assert "stderr" not in {output.get("name") for output in outputs}  # no warning either
    return "".join(output.get("text", "") for output in outputs)


def test_minibatch_sgd(seeds: list[Path], tmp_path: Path) -> None:
    said = results(seeds[4], tmp_path)
    losses = [float(number) for number in re.findall(r"loss: ([\d.]+)", said)]
    assert len(losses) == 5
    # least squares gives 0.242, a half of the variance 1 is 0.5; with batches of one the loss is
    # measured on 150 rows, whose mean is off by 0.03 or so
    assert all(0.13 < loss < 0.38 for loss in losses)


@pytest.mark.slow
def test_gru(seeds: list[Path], tmp_path: Path) -> None:
    said = results(seeds[2], tmp_path)
    perplexities = [float(number) for number in re.findall(r"perplexity ([\d.]+)", said)]
    assert len(perplexities) == 2
    assert all(1 < value < 20 for value in perplexities)  # 28 before anything is learnt
    assert said.count("time traveller") == 2


@pytest.mark.slow
def test_schedules(seeds: list[Path], tmp_path: Path) -> None:
    said = results(seeds[3], tmp_path)
    accuracies = [float(number) for number in re.findall(r"test acc ([\d.]+)", said)]
    assert len(accuracies) == 5
    # after 120 updates; ten classes: 0.1 by chance. A schedule that begins slowly may stay there
    assert sorted(accuracies)[2] > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
def test_several_devices(place: int, seeds: list[Path], tmp_path: Path) -> None:
    said = results(seeds[place], tmp_path)
    assert said.count("type='cuda', index=1") >= 2  # in the list of devices, and in the last line
    assert "tensor([[3., 3.]], device='cuda:1')" in said  # after the allreduce
