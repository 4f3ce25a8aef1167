"""Seeded faults: one framework goes wrong on purpose, and the first step and cause are named."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import lockstep as ls
from lockstep.comparison import compare
from lockstep.frameworks import registry

OTHERS = [name for name in registry.installed() if name != "numpy"]
STEPS = 12

# each patches the source that the worker is about to run
SHIFTED_BIAS = """
    from lockstep.models.recurrent import RecurrentNet
    real = RecurrentNet.initial_weights
    def shifted(self, seed):
        weights = real(self, seed)
        weights['b'][self.num_hiddens : 2 * self.num_hiddens] += 1e-3  # the reset gate's
        return weights
    RecurrentNet.initial_weights = shifted
"""
SHIFTED_GATE = """
    import numpy
    from lockstep.models.recurrent import RecurrentNet
    real = RecurrentNet.apply
    def shifted(self, ops, w, x, carry):
        shift = numpy.zeros(3 * self.num_hiddens)
        shift[2 * self.num_hiddens :] = 1e-3  # the candidate's
        return real(self, ops, {**w, 'b': w['b'] + ops.asarray(shift)}, x, carry)
    RecurrentNet.apply = shifted
"""
OTHER_BATCH = """
    from lockstep.data.plans import WindowPlan
    real = WindowPlan.epoch
    def shuffled(self, epoch):
        blocks = [block.copy() for block in real(self, epoch)]
        blocks[0][7] = blocks[0][7][::-1]
        return blocks
    WindowPlan.epoch = shuffled
"""
LATE_SCHEDULE = """
    from lockstep.training.rates import Rates
    import numpy
    real = Rates.lrs
    def late(self, step, count, epoch):
        steps = range(step, step + count)
        return numpy.concatenate([real(self, max(t - 1, 0), 1, epoch) for t in steps])
    Rates.lrs = late
"""


def spec(**fields: Any) -> ls.RunSpec:
    """A small GRU whose rate is halved from step 5 on."""
    return ls.recipes.timemachine_gru(precision="float64").with_fields(
        {
            "data.source": "generated",
            "data.window": 6,
            "model.num_hiddens": 8,
            "schedule": "multi_factor(1.0, milestones=[5], factor=0.5)",
            "schedule_per": "step",
            **fields,
        }
    )


@pytest.fixture
def faulty(interpreter: Any) -> Any:
    """The interpreter of a worker in which a patch has been made."""

    def make(patch: str) -> str:
        code = textwrap.dedent(patch) + (
            "import runpy, sys\n"
            "sys.argv = ['worker', *sys.argv[1:]]\n"
            "runpy.run_module('lockstep.training.run_worker', run_name='__main__')\n"
        )
        return str(interpreter(f'shift 3; exec $PYTHON -P -c "{code}" "$@"'))

    return make


@pytest.mark.usefixtures("without_page")
@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize(
    ("patch", "quantity", "step", "loss_step"),
    [
        pytest.param(SHIFTED_BIAS, "initial parameters", 0, None, id="a bias that starts shifted"),
        pytest.param(SHIFTED_GATE, "loss", 0, 0, id="a gate that computes with a shift"),
        pytest.param(OTHER_BATCH, "batch", 7, 7, id="a batch in another order"),
        pytest.param(LATE_SCHEDULE, "lr", 5, 6, id="a schedule one step late"),
    ],
)
def test_the_first_step_and_the_cause_are_named(
    patch: str,
    quantity: str,
    step: int,
    loss_step: int | None,
    framework: str,
    tmp_path: Path,
    faulty: Any,
) -> None:
    """With weights this small the reset gate hardly moves the loss: the bias is found all the
    same. Rows in another order belong to other states carried over, so their loss parts at once; a
    rate that is late shows in the loss after the update that used it."""
    found = compare(
        spec(),
        frameworks=[framework],
        steps=STEPS,
        out=tmp_path / "c",
        interpreters={framework: faulty(patch)},
    )
    row = found.rows[1]
    assert row.status == "completed", row.problem
    assert row.first_difference is not None
    assert (row.first_difference.quantity, row.first_difference.step) == (quantity, step)
    assert row.verdict("loss").step == loss_step
    if quantity == "initial parameters":
        assert row.first_difference.where == "b"
    assert found.exit_code == 1
    assert f"{framework} differs at step {step}: {quantity}" in found.verdict
    assert found.moved
