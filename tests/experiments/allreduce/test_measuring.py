"""The benchmark measures what it says: counts are the plans', sums are checked, turns are fair."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.cli import main
from lockstep.errors import InputError, LockstepError
from lockstep.experiments.allreduce import measuring
from lockstep.experiments.allreduce.algorithms import ALGORITHMS, ring
from lockstep.experiments.allreduce.cost import PROBES, Link, predict
from lockstep.experiments.allreduce.measuring import Results, Times, run
from lockstep.experiments.allreduce.question import Question, known_algorithms
from lockstep.experiments.allreduce.timing import check_sum, initial_values, time_threads, turns
from lockstep.experiments.allreduce.transfers import make_plan


def check_rows(results: Results) -> None:
    """One row for each of what was asked, in order, with the counts of its plan."""
    bench = results.question
    asked = [(s, k, a) for s in bench.sizes for k in bench.devices for a in bench.algorithms]
    assert [(row.size, row.devices, row.algorithm) for row in results.rows] == asked
    for row in results.rows:
        low, high = row.spread
        assert len(row.seconds) == bench.repeats
        assert 0 < min(row.seconds) <= low <= row.median <= high <= max(row.seconds)
        if row.algorithm in ALGORITHMS:
            plan = ALGORITHMS[row.algorithm](row.devices, row.size // 4)
            assert (row.sent, row.rounds) == (4 * max(plan.sent), plan.num_rounds)
            assert (row.predicted is None) == (row.devices == 1)
        else:
            assert (row.sent, row.rounds, row.predicted) == (None, None, None)


def test_local() -> None:
    reported: list[float] = []
    bench = Question((400, 4004), (1, 3), tuple(ALGORITHMS), "local", repeats=3)
    results = run(bench, lambda share, what: reported.append(share))
    check_rows(results)
    assert set(results.links) == {3}
    assert results.links[3].latency > 0
    count = len(reported)
    assert reported == [(i + 1) / count for i in range(count)]  # to the end, no further


def test_processes_and_engines() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    bench = Question((40_000,), (2,), ("ring", "gloo", "xla"), repeats=2)
    check_rows(run(bench))


def test_a_link_is_part_of_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that took as long as a known link: 64 MB behind 10 Gbit, two devices, no latency."""
    link = Link(latency=0.0, bandwidth=4e9)

    def report(bench: Question, devices: int) -> Iterator[tuple[int, dict[str, Any]]]:
        for name, probe in PROBES.items():
            seconds = predict(probe.plan(devices, probe.length), 4, link)
            yield 0, message(name, probe.length, seconds)
        yield 0, message("ring", 16_000_000, 0.06)

    monkeypatch.setattr(measuring, "_own", report)
    bench = Question((64_000_000,), (2,), ("ring",), repeats=1, bandwidth=1.25e9)
    (row,) = run(bench).rows
    assert row.predicted == pytest.approx(2 * 32e6 / 1.25e9, rel=1e-3)


def message(
    name: str, length: int, seconds: float, repeat: int = 0, sent: int = 0
) -> dict[str, Any]:
    facts = {"repeat": repeat, "seconds": seconds, "sent": sent, "rounds": 2}
    return {"algorithm": name, "length": length, **facts}


def test_a_wrong_sum_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring that stops half-way: device 0 has the sum of its second half only."""
    half = ring(2, 4).rounds[:1]
    monkeypatch.setitem(ALGORITHMS, "ring", lambda k, n: make_plan(k, n, half))
    with pytest.raises(LockstepError, match=r"algorithm = 'ring': element 0 is 0\.0, not 1\.0"):
        list(time_threads(2, [(4, ["ring"])], 1))


def test_check_sum_finds_one_wrong_element() -> None:
    buffer = initial_values(0, 600) + initial_values(1, 600)
    check_sum(buffer, 2, "ring")
    buffer[500] += 1
    with pytest.raises(LockstepError, match=r"element 500 is 500\.0, not 499\.0"):
        check_sum(buffer, 2, "ring")


def test_turns_begin_with_another_each_time() -> None:
    found = list(turns(["a", "b", "c"], 4))
    assert [name for repeat, name in found if repeat == -1] == ["a", "b", "c"]
    for repeat in range(4):
        names = [name for r, name in found if r == repeat]
        assert sorted(names) == ["a", "b", "c"]
        assert names[0] == "abc"[repeat % 3]


def test_the_slowest_device_counts_and_warm_ups_do_not() -> None:
    times = Times()
    for repeat, seconds, sent in ((-1, 9.0, 4), (0, 1.0, 8), (0, 3.0, 12), (1, 2.0, 8)):
        times.add(message("ring", 3, seconds, repeat, sent))
    times.add({"joining": 1})
    assert times.seconds("ring", 3) == (3.0, 2.0)
    assert times.largest("ring", 3, "sent") == 12


# --- what is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("--size 64XB", "size = '64XB': has the unit 'XB'"),
        ("--size 6B", "size = 6: is no whole number of float32"),
        ("--size 0MB", "size = 0: is no whole number of float32"),
        ("--size ,", "size = ',': has no entry"),
        ("--devices 0", "devices = 0: is not a number of devices. Give 1 or more."),
        ("--devices 2,two", "devices = 'two': is not a whole number"),
        ("--algorithms rign", "algorithm = 'rign': is not known. Did you mean 'ring'?"),
        ("--algorithms gloo --transport local", "algorithm = 'gloo': is not known"),
        (
            "--transport pigeon",
            "transport = 'pigeon': is not known. Known: local, processes, shared.",
        ),
        ("--repeats 0", "repeats = 0: measures nothing"),
        ("--bandwidth 10", "bandwidth = 10.0: cannot hold back gloo, xla"),
        ("--bandwidth 10 --transport shared", "bandwidth = 10.0: cannot hold back memory that"),
        ("--bandwidth 0bit", "bandwidth = '0bit': lets nothing through"),
        ("--figure chart.gif", "figure = 'chart.gif': is neither PNG nor SVG"),
    ],
)
def test_mistakes(argv: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    extra = ["--algorithms", "gloo,xla"] if argv == "--bandwidth 10" else []
    for command in ("bench", "experiment"):
        assert main([command, "allreduce", *argv.split(), *extra]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"lockstep: {expected}")
        assert err.count("\n") == 1


def test_what_is_left_out_is_said(
    hide: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    hide("torch", "jax")
    asked = ["bench", "allreduce", "--size", "400", "--devices", "2", "--repeats", "1"]
    assert main([*asked, "--transport", "local"]) == 0
    out, err = capsys.readouterr()
    assert "xla is left out: jax is not installed" in err
    assert "halving doubling" in out
    assert main(asked) == 2
    assert "framework = 'torch': is not installed here" in capsys.readouterr().err


# --- what is shown --------------------------------------------------------------------------------

LOCAL = ["bench", "allreduce", "--transport", "local", "--repeats", "2"]


def test_a_table_and_a_figure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    asked = ["--size", "4KB,8KB", "--devices", "2,3", "--algorithms", "gather-broadcast,ring"]
    assert main([*LOCAL, *asked, "--figure", str(figure)]) == 0
    out, err = capsys.readouterr()
    for title in ("4 KB over 2 devices", "4 KB over 3 devices", "8 KB over 3 devices"):
        assert title in out
        assert title in figure.read_text()
    ring = next(line for line in out.splitlines() if line.startswith("ring"))
    assert "4 KB" in ring  # 2 S (k-1)/k
    assert "speed-up: over gather broadcast" in out
    assert "allreduce: 100%" in err
    assert "figure.svg" in err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LOCAL, "--size", "4KB", "--devices", "2", "--algorithms", "ring", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rows"]
    assert (row["size"], row["devices"], row["algorithm"]) == (4000, 2, "ring")
    assert (row["sent"], row["rounds"]) == (4000, 2)
    assert row["low"] <= row["median"] <= row["high"]
    assert len(row["seconds"]) == found["bench"]["repeats"] == 2
    assert set(found["links"]["2"]) == {"latency", "bandwidth", "adding", "shared"}


def test_the_defaults_are_the_issues() -> None:
    bench = Question()
    assert bench.sizes == (10**6, 64 * 10**6)
    assert bench.devices == (2, 4, 8)
    assert bench.bandwidth == math.inf
    assert known_algorithms("processes") == [*ALGORITHMS, "gloo", "xla"]
    with pytest.raises(InputError, match="cannot hold back one process"):
        Question(transport="local", bandwidth=1e9)
    assert measuring.SILENCE < measuring.TIMEOUT
