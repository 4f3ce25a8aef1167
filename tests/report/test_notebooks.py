"""Notebooks, executed: pictures and HTML, one output for a run's progress, and the stop button."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks are executed by it")
nbformat = pytest.importorskip("nbformat", reason="notebooks are written in it")
jupyter_client = pytest.importorskip("jupyter_client", reason="kernels are started by it")
pytest.importorskip("ipykernel", reason="it is the kernel")

SECONDS = 60.0  # for what takes one or two
PICTURE = 'role="img"'  # of each picture in HTML


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[..., list[Any]]:
    """Executes cells in one kernel, and gives the outputs of each."""

    def execute(*sources: str) -> list[Any]:
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        made = nbformat.v4.new_notebook(cells=cells)
        where = {"metadata": {"path": str(tmp_path)}}
        client = nbclient.NotebookClient(made, timeout=SECONDS, allow_errors=True, resources=where)
        client.execute()
        nbformat.validate(made)
        return [cell.outputs for cell in made.cells]

    return execute


def text(output: Any) -> str:
    return str(output.data["text/plain"])


def test_what_a_notebook_shows(notebook: Callable[..., list[Any]], tmp_path: Path) -> None:
    run = "ls.recipes.airfoil_linear(max_steps=300)"
    trained, elsewhere, quiet, result, plot, kept, later, file, *others, mistake = notebook(
        f"import lockstep as ls\nresult = ls.train({run}, out='runs/airfoil')",
        f"there = ls.train({run}, launch='processes')",
        f"silent = ls.train({run}, progress=False)",
        "result",
        "result.plot()",
        "picture = result.plot()",
        "picture",
        "saved = result.plot('loss.svg')",
        "result.history",
        "ls.cosine(0.3, steps=20).warmup(5)",
        "result.spec",
        "ls.runs()",
        "result.show()",
        "ls.train(ls.recipes.airfoil_linear(batch_size=-1))",
    )
    for outputs in (trained, elsewhere):  # one output, however often it was updated
        (progress,) = outputs
        assert progress.output_type == "display_data"
        assert re.search(r"step 300/300, epoch 2/2, loss .* completed: 300 steps", text(progress))
        assert progress.data["text/html"].count(PICTURE) == 3  # loss, metrics, learning rate
        assert "<script" not in progress.data["text/html"]
    assert quiet == []
    (shown,) = result
    assert shown.data["text/html"].count(PICTURE) == 3
    assert "completed" in text(shown)
    assert "RunSpec(" not in text(shown)
    for outputs in (plot, kept, later):  # shown once each, and never as a size
        (picture,) = outputs
        assert picture.data["image/svg+xml"].startswith("<svg")
        assert "<svg" in picture.data["text/html"]
        assert text(picture) == "picture: airfoil-linear in numpy"
    assert file == []
    assert (tmp_path / "loss.svg").read_text().startswith("<?xml")
    history, schedule, spec, runs, printed = others
    assert "epoch" in text(history[0])
    assert "300" in text(history[0])
    assert schedule[0].data["text/html"].count(PICTURE) == 1
    assert "batch size" in spec[0].data["text/html"]
    assert "airfoil" in text(runs[0])
    assert runs[0].data["text/html"].count("<svg") == 1
    assert {output.output_type for output in printed} == {"stream"}
    assert "completed" in "".join(output.text for output in printed)
    (error,) = mistake
    assert error.traceback == [f"InputError: {error.evalue}"]
    assert error.evalue.startswith("batch_size = -1: ")


class Kernel:
    """A kernel whose messages are looked at as they come."""

    def __init__(self, folder: Path) -> None:
        self._manager = jupyter_client.KernelManager(kernel_name="python3")
        self._manager.start_kernel(cwd=str(folder))
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=SECONDS)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def run(self, code: str, interrupt_after: int = 0) -> list[dict[str, Any]]:
        """The messages about outputs; the stop button is pressed after so many of them."""
        asked = self._client.execute(code)
        found: list[dict[str, Any]] = []
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            message = self._client.get_iopub_msg(timeout=SECONDS)
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind = message["header"]["msg_type"]
            if kind == "status" and message["content"]["execution_state"] == "idle":
                return found
            if kind not in ("status", "execute_input"):
                found.append({"kind": kind, **message["content"]})
                if len(found) == interrupt_after:
                    self._manager.interrupt_kernel()
        raise AssertionError(f"the cell did not end: {found}")


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(tmp_path)
    yield made
    made.close()


def test_the_stop_button(kernel: Kernel) -> None:
    """The run ends as if it had been asked to, says how to go on, and goes on to the same bits."""
    kernel.run("import lockstep as ls, numpy as np\nfrom dataclasses import replace")
    kernel.run("long = ls.recipes.airfoil_linear(epochs=100_000)")
    for out, folder in (("None", "runs/airfoil-linear-numpy-"), ("'mine'", "mine")):
        begin = time.monotonic()
        messages = kernel.run(f"found = ls.train(long, out={out})", interrupt_after=3)
        seconds = time.monotonic() - begin
        kinds = [message["kind"] for message in messages]
        assert kinds.count("display_data") == 1
        assert set(kinds) == {"display_data", "update_display_data"}
        assert len(kinds) <= 3 * seconds + 3  # a few a second at most
        identities = {message["transient"]["display_id"] for message in messages}
        assert len(identities) == 1
        last = messages[-1]["data"]["text/plain"]
        step = int(re.findall(r"interrupted at step (\d+)", last)[0])
        (named,) = re.findall(r"continue it with: ls\.resume\('(.*?)'\)", last)
        assert named.startswith(folder)
        assert "ls.resume" in messages[-1]["data"]["text/html"]
        told = kernel.run(
            f"print(found.status, len(found.history), found.directory)\n"
            f"spec = replace(long, max_steps={step + 50})\n"
            f"rest = ls.resume('{named}', spec=spec, progress=False)\n"
            f"whole = ls.train(spec, progress=False)\n"
            f"print(rest.status, len(rest.history))\n"
            f"print(all(np.array_equal(rest.weights[n], w) for n, w in whole.weights.items()))\n"
            f"print(np.array_equal(rest.history[:, 'loss'], whole.history[:, 'loss']))"
        )
        said = "".join(message["text"] for message in told).splitlines()
        assert said == [
            f"interrupted {step} {named}",
            f"completed {step + 50}",
            "True",
            "True",
        ]


def test_a_model_of_a_cell_goes_on_as_the_stop_button_says(kernel: Kernel) -> None:
    """No file has it, so the task is to be given again."""
    kernel.run(
        "import lockstep as ls, numpy as np\n"
        "from dataclasses import replace\n"
        "def net(ops, w, x):\n"
        "    return x @ w['w']\n"
        "x = np.arange(12.0).reshape(6, 2)\n"
        "mine = ls.own(net, x, x[:, :1], weights={'w': np.zeros((2, 1))})\n"
        "long = mine.run(epochs=1_000_000, batch_size=2, lr=1e-3)"
    )
    messages = kernel.run("found = ls.train(long, mine)", interrupt_after=3)
    (hint,) = re.findall(
        r"continue it with: (ls\.resume\(.*\))", messages[-1]["data"]["text/plain"]
    )
    assert hint.endswith(", mine)")
    told = kernel.run(
        f"spec = replace(long, max_steps=len(found.history) + 10)\n"
        f"rest = {hint[:-1]}, spec=spec, progress=False)\n"
        f"print(rest.status, len(rest.history) - len(found.history))"
    )
    assert "".join(message["text"] for message in told) == "completed 10\n"
