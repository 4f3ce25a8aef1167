"""Chapters in a real kernel: what runs, what fails and how, and what is written of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from tests.book.chapters import as_markdown
from tests.cli.terminal import Terminal

import lockstep
from lockstep.book import chapter, notebook_file, running, show, side_by_side
from lockstep.book.execution import Executed
from lockstep.book.kernel import Kernel, KernelFailed, Settings, started
from lockstep.book.own_runs import OwnRun
from lockstep.book.pieces import Cell

SOURCE = str(Path(lockstep.__file__).resolve().parents[1])


def written(folder: Path, *codes: str) -> Path:
    path = folder / "own.md"
    path.write_text(as_markdown([(("pytorch",), code) for code in codes]))
    return path


def carried_out(folder: Path, *codes: str, timeout: float = 200.0) -> running.ChapterRun:
    found = chapter.read(written(folder, *codes))
    settings = running.settings_for(found, "pytorch")
    return running.run(found, settings, folder, timeout=timeout)


@pytest.fixture(scope="module")
def many(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[running.ChapterRun, str, dict[str, object]]:
    """One chapter with many kinds of cells, its page and its notebook."""
    folder = tmp_path_factory.mktemp("many")
    done = carried_out(
        folder,
        "a = 41\nprint('said')\na + 1",
        "print(undefined_name)",
        "input('your name?')",
        "for _ in range(3000):\n    print('x' * 999)",
        "tab.selected('pytorch'), tab.selected('mxnet')",
        "import time\nwhile True:\n    time.sleep(0.1)",
        "from d2l import torch as d2l\n"
        "d2l.plot([1, 2], [3, 4], 'x', 'square')\nd2l.plt.gca().set_xscale('log')",
        "animator = d2l.Animator('epoch', 'loss', xlim=[0, 3])\n"
        "for i in range(1, 4):\n    animator.add(i, 1 / i)\nprint('last', animator.Y[0][-1])",
        "a",
        timeout=10.0,
    )
    notebook, page = show.write(done, folder)
    return done, page.read_text(), json.loads(notebook.read_text())


def problems(done: running.ChapterRun) -> list[str]:
    return [item.executed.problem for item in done.cells]


def test_each_cell_ends_as_it_should(
    many: tuple[running.ChapterRun, str, dict[str, object]],
) -> None:
    found = problems(many[0])
    assert found[0] == ""
    assert found[1] == "NameError: name 'undefined_name' is not defined"
    assert found[2] == "asks for input, and nobody is there to answer"
    assert found[3:5] == ["", ""]
    assert found[5] == "not done after 10.0 s (--timeout)"
    assert found[6:] == ["", "", ""]
    assert many[0].num_ok == 6
    assert not many[0].is_whole


def text_of(done: running.ChapterRun, place: int) -> str:
    outputs = done.cells[place].executed.outputs
    return "".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs
    )


def test_outputs(many: tuple[running.ChapterRun, str, dict[str, object]]) -> None:
    done = many[0]
    assert text_of(done, 0) == "said\n42"
    assert "(True, False)" in text_of(done, 4)
    assert text_of(done, 8) == "41"  # the kernel lived on after the endless cell


def test_a_flood_of_output_is_cut(many: tuple[running.ChapterRun, str, dict[str, object]]) -> None:
    said = text_of(many[0], 3)
    assert len(said) < 1_000_200
    assert said.endswith("[2,000,000 more characters were printed and not kept]\n")
    line = show.cell_line(many[0].cells[3], 9)
    assert line.endswith("ok; it printed too much, the rest was not kept")
    assert not many[0].cells[0].executed.is_cut


def test_figures_in_a_notebook(many: tuple[running.ChapterRun, str, dict[str, object]]) -> None:
    for place, words in ((6, "figure: square against x"), (7, "figure: loss against epoch")):
        shown = [item for item in many[0].cells[place].executed.outputs if "data" in item]
        assert len(shown) == 1  # the last state, not one output for each point
        assert "<svg" in shown[0]["data"]["image/svg+xml"]
        assert shown[0]["data"]["text/plain"] == words
    assert "last 0.333" in text_of(many[0], 7)
    assert "<Figure size" not in json.dumps(many[2])


def test_what_a_figure_showed_last_can_be_compared(
    many: tuple[running.ChapterRun, str, dict[str, object]],
) -> None:
    (figure,) = side_by_side.figures(many[0])
    assert figure.values == {"loss": pytest.approx(1 / 3)}
    assert figure.seconds == many[0].cells[7].executed.seconds
    head, rows = side_by_side.value_table([many[0], many[0]])
    assert head == ["figure", "pytorch", "pytorch"]
    assert rows[0] == ["1. loss", "0.3333", "0.3333"]
    assert rows[1][0] == "1. time"
    own = {"pytorch": [OwnRun("b=10", {"final_train_loss": 0.25}, 2.0)]}
    head, rows = side_by_side.value_table([many[0]], own)
    assert head == ["figure", "pytorch", "Lockstep, torch"]
    assert rows[0] == ["1. b=10: loss", "0.3333", "0.25"]
    assert rows[1][2] == "2.0 s"
    head, rows = side_by_side.time_table([many[0]])
    assert len(rows) == 10
    assert rows[1][1].endswith(", failed")


def test_the_notebook_is_valid(many: tuple[running.ChapterRun, str, dict[str, object]]) -> None:
    notebook = nbformat.from_dict(many[2])
    nbformat.validate(notebook)
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert codes == [item.cell.source for item in many[0].cells]
    assert notebook.cells[0].cell_type == "markdown"


def test_the_page_needs_nothing_else(
    many: tuple[running.ChapterRun, str, dict[str, object]],
) -> None:
    page = many[1]
    assert "6 of 9 cells ran" in page
    assert "NameError" in page
    assert "data:image/svg+xml;base64," in page
    assert "<script" not in page
    assert 'src="http' not in page
    assert "virtual" not in page
    assert "Quick" not in page


def test_virtual_devices_and_quick_are_announced(tmp_path: Path) -> None:
    codes = (
        "from d2l import torch as d2l\nimport torch\n"
        "[str(d2l.try_gpu(i)) for i in range(3)], torch.ones(1, device='cuda:1').device",
        "from lockstep.d2l import options\noptions.shortened('epochs', 30, 2)",
    )
    found = chapter.read(written(tmp_path, *codes))
    settings = running.settings_for(found, "pytorch", quick=True, num_devices=2)
    assert settings.num_devices == 2
    done = running.run(found, settings, tmp_path)
    assert done.is_whole, problems(done)
    assert "['cuda:0', 'cuda:1', 'cpu']" in text_of(done, 0)
    assert text_of(done, 1) == "2"
    page = show.write(done, tmp_path)[1].read_text()
    assert "2 virtual devices" in page
    assert "epochs: 2 of 30" in page
    assert done.facts.keys() == {"python", "torch"}


def test_a_kernel_that_dies(tmp_path: Path) -> None:
    done = carried_out(tmp_path, "print('before', flush=True)", "import os\nos._exit(9)", "1")
    assert problems(done)[0] == ""
    assert problems(done)[1] == "the kernel died (exit code 9)"
    assert problems(done)[2] == "not run"
    assert "before" in show.write(done, tmp_path)[1].read_text()


def test_a_kernel_that_gives_no_answer_after_its_last_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was known of it before is kept, and what ran is written."""
    monkeypatch.setattr(running, "ANSWER_SECONDS", 5.0)
    silent = "import IPython\nIPython.get_ipython().user_expressions = None"  # it must be callable
    done = carried_out(tmp_path, "1 + 1", silent)
    assert problems(done) == ["", ""]
    assert done.facts.keys() == {"python"}


def test_a_log_that_a_cells_processes_fill_is_begun_anew(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with log.open("ab", buffering=0) as file:
        file.write(b"x" * 10_000_001)
        Kernel(None, None, log).trim_log()
        file.write(b"std::bad_alloc\n")
    assert log.read_bytes() == b"std::bad_alloc\n"


def test_the_last_words_of_a_kernel_are_none_of_jupyters_own(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        "std::bad_alloc\n[IPKernelApp] WARNING | Kernel is running over TCP without encryption.\n"
        "W0000 00:00:1795053824.373189   15661 util.cc:131] Please NOTE\n"
    )
    assert Kernel(None, None, log).last_words() == "std::bad_alloc"


def test_a_data_set_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on this machine nor to be had: a line that says what and where, and the rest runs."""
    monkeypatch.setenv("LOCKSTEP_CACHE", str(tmp_path / "cache"))
    code = (
        "from d2l import torch as d2l\n"
        "d2l.DATA_HUB['lost'] = ('http://127.0.0.1:9/lost.csv', '0' * 40)\n"
        "d2l.download('lost')"
    )
    done = carried_out(tmp_path, code, "d2l.download('misspelt')", "1 + 1")
    lost, misspelt, after = problems(done)
    assert lost.startswith("MissingError: data 'lost' could not be had")
    assert "http://127.0.0.1:9/lost.csv" in lost
    assert "misspelt" in misspelt
    assert after == ""


def test_a_gigabyte_that_is_printed_is_not_kept(tmp_path: Path) -> None:
    """A hundred different lines of 10 MB: the kernel drops them before anything remembers them."""
    pages = "from pathlib import Path\nint(Path('/proc/self/statm').read_text().split()[1])"
    flood = "for i in range(10, 110):\n    print(f'{i:03}' + 'x' * 10_000_000)"
    done = carried_out(tmp_path, pages, flood, pages)
    assert problems(done)[:2] == ["", ""]
    assert len(text_of(done, 1)) < 1_000_200
    assert "[999,000,400 more characters" in text_of(done, 1)
    assert int(text_of(done, 2)) - int(text_of(done, 0)) < 50_000  # of 4 KiB


def test_a_value_of_ten_megabytes_is_cut(tmp_path: Path) -> None:
    html = "from IPython.display import HTML\nHTML('y' * 3_000_000)"
    done = carried_out(tmp_path, "'x' * 10_000_000", html, "'short'")
    assert done.is_whole
    assert len(text_of(done, 0)) < 1_000_200
    assert text_of(done, 0).endswith("[9,000,002 more characters were printed and not kept]\n")
    shown = done.cells[1].executed.outputs[0]["data"]["text/html"]
    assert shown.endswith("y\n[2,000,000 more characters were printed and not kept]\n")
    assert [item.executed.is_cut for item in done.cells] == [True, True, False]


def test_a_kernel_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "ipykernel"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise RuntimeError('broken on purpose')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with (
        pytest.raises(KernelFailed, match="broken on purpose"),
        started(Settings("torch", "pytorch"), tmp_path),
    ):
        pass


def test_devices_only_where_a_chapter_asks_for_several(tmp_path: Path) -> None:
    def num_devices(code: str) -> int:
        return running.settings_for(chapter.read(written(tmp_path, code)), "pytorch").num_devices

    assert num_devices("d2l.try_gpu()") == 0
    assert num_devices("d2l.try_gpu(i)") == 2
    assert num_devices("torch.device('cuda:0')") == 2
    assert num_devices("nn.DataParallel(net)") == 2


@pytest.mark.parametrize("tab", ["jax", "tensorflow", "mindspore"])
def test_a_framework_without_virtual_devices_is_asked_for_none(tab: str, tmp_path: Path) -> None:
    """Such a cell computes on the processor, where the book's own functions fall back to it."""
    path = tmp_path / "own.md"
    path.write_text(as_markdown([((tab,), "d2l.try_gpu(10), d2l.try_all_gpus()")]))
    assert running.settings_for(chapter.read(path), tab).num_devices == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_kernel_is_left_behind(
    number: signal.Signals, tmp_path: Path, nothing_left: Callable[[], list[str]]
) -> None:
    path = written(tmp_path, "1 + 1", "import time\ntime.sleep(600)", "2")
    command = [sys.executable, "-m", "lockstep", "book", "run", str(path), "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout is not None
    assert "1/3" in process.stdout.readline()
    time.sleep(1)  # the second cell has begun
    assert len(nothing_left()) == 2  # the command and its kernel
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    if number != signal.SIGKILL:
        assert list(tmp_path.glob("lockstep-kernel-*")) == []  # the kernel's own folder
        assert process.returncode == 130
        assert "failed: interrupted" in out
        assert "1 of 3 cells ran" in out
        assert "Traceback" not in err
        assert (tmp_path / "own-pytorch.html").exists()
        assert (tmp_path / "own-pytorch.ipynb").exists()


def test_ctrl_c_twice(tmp_path: Path, nothing_left: Callable[[], list[str]]) -> None:
    """A cell that does not end when it is asked to is not waited for; what ran is written."""
    stubborn = (
        "import time\nwhile True:\n    try:\n        time.sleep(600)\n"
        "    except BaseException:\n        print('no')"
    )
    path = written(tmp_path, "1 + 1", stubborn)
    words = [sys.executable, "-m", "lockstep", "book", "run", str(path), "--out", str(tmp_path)]
    with Terminal(words, variables={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.read_until("1/2")
        for _ in range(2):
            time.sleep(1)
            terminal.type("\x03")
        begin = time.monotonic()
        assert "1 of 2 cells ran" in terminal.read_until()
        assert terminal.process.wait(60) == 130
    assert time.monotonic() - begin < 8  # of the ten seconds that it is given
    assert "no" in (tmp_path / "own-pytorch.ipynb").read_text()
    assert nothing_left() == []


@pytest.mark.parametrize(
    ("moment", "ran"), [("start", 0), ("cell 2", 1), ("last question", 3), ("shutdown", 3)]
)
def test_ctrl_c_outside_a_cell(
    moment: str, ran: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ran is kept; if nothing did, there is nothing to write over the files of another run."""

    def now(name: str) -> None:
        if name == moment:
            raise KeyboardInterrupt

    @contextmanager
    def started(*words: object) -> Iterator[None]:
        now("start")
        yield
        now("shutdown")

    class Pressed(running.Listener):
        def begun(self, number: int, total: int, cell: Cell) -> None:
            now(f"cell {number}")

    def ask(*words: object) -> tuple[dict[str, str], tuple[str, ...]]:
        if executed:
            now("last question")
        return {"python": "3.11"}, ()

    def execute(kernel: object, source: str, *words: object) -> Executed:
        executed.append(source)
        return Executed()

    executed: list[str] = []
    monkeypatch.setattr(running.kernels, "started", started)
    monkeypatch.setattr(running, "_ask", ask)
    monkeypatch.setattr(running, "execute", execute)
    found = chapter.read(written(tmp_path, "1 + 1", "2", "3"))
    settings = running.settings_for(found, "pytorch")
    if not ran:
        with pytest.raises(KeyboardInterrupt):
            running.run(found, settings, tmp_path, Pressed())
        return
    done = running.run(found, settings, tmp_path, Pressed())
    assert problems(done) == [""] * ran + ["not run"] * (3 - ran)
    assert done.interrupted
    assert done.facts == {"python": "3.11"}


def test_a_terminal_that_closes(tmp_path: Path, nothing_left: Callable[[], list[str]]) -> None:
    """What ran is written, though there is nothing left to print to."""
    path = written(tmp_path, "1 + 1", "import time\ntime.sleep(600)")
    words = [sys.executable, "-m", "lockstep", "book", "run", str(path), "--out", str(tmp_path)]
    with Terminal(words, variables={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.read_until("1/2")
        time.sleep(1)  # the second cell has begun
        assert len(nothing_left()) == 2  # the command and its kernel
        terminal.hang_up()
        assert terminal.process.wait(60) == 130
    assert "1 of 2 cells ran" in (tmp_path / "own-pytorch.html").read_text()
    assert (tmp_path / "own-pytorch.ipynb").exists()


def said_in(name: str, source: str) -> str:
    """What a registered kernel prints."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name=name, startup_timeout=100)
    said: list[str] = []
    try:
        client.execute_interactive(
            source,
            output_hook=lambda message: said.append(message["content"].get("text", "")),
            timeout=100,
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return "".join(said)


def test_a_registered_kernel_runs_in_any_jupyter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By Jupyter's own client, which knows nothing of Lockstep but the entry."""
    from lockstep.cli import main

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert main(["env", "kernel", "torch"]) == 0
    asked = "from d2l import torch as d2l\nprint(d2l.__name__, d2l.try_gpu(1))"
    assert said_in("lockstep-torch", asked) == "lockstep.d2l.torch cpu\n"
    # a chapter on several devices needs them again: its notebook names the other kernel
    done = carried_out(tmp_path, f"{asked}\nd2l.try_all_gpus()")
    assert done.is_whole, problems(done)
    named = notebook_file.notebook(done)["metadata"]["kernelspec"]["name"]
    assert said_in(named, asked) == "lockstep.d2l.torch cuda:1\n"
    assert main(["env", "kernel", "jax", "--devices", "0"]) == 2
    assert main(["env", "kernel", "torch", "--remove"]) == 0
    assert main(["env", "kernel", "torch", "--remove"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [Path(line.split()[1]).name for line in lines[:2]] == ["lockstep-torch", named]
    assert lines[2:] == [f"torch  removed: lockstep-torch, {named}", "torch  had no kernel"]
