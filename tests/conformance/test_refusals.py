"""What the contract leaves out is refused by name, with the remedy, in every framework alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lockstep.contract import ContractOps
from lockstep.errors import InputError

X = np.arange(12.0).reshape(3, 4)
# what is done with x (floats), n (whole numbers), t (booleans); what the error names
REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "// of floats": (lambda ops, x, n, t: x // 2, r"operator = '//'.*whole numbers.*Divide with /"),
    "% of floats": (lambda ops, x, n, t: n % 0.5, r"operator = '%'.*whole numbers"),
    "// by 0": (lambda ops, x, n, t: n // 0, r"operator // = 0: divides by zero"),
    "& of numbers": (
        lambda ops, x, n, t: n & n,
        r"operator & = 'int32': is for booleans.*\(x > 0\)",
    ),
    "| of a number": (lambda ops, x, n, t: t | 1, r"operator \| = 'int32': is for booleans"),
    "~ of numbers": (lambda ops, x, n, t: ~x, r"operator ~ = 'float': is for booleans"),
    "<<": (lambda ops, x, n, t: n << 1, r"operator = '<<': is not part of Ops"),
    ">>": (lambda ops, x, n, t: 2 >> n, r"operator = '>>': is not part of Ops"),
    "** an array": (lambda ops, x, n, t: n**n, r"operator \*\* .*ops\.floating\(x\) \*\* n"),
    "** -1 of whole": (lambda ops, x, n, t: n**-1, r"operator \*\* = -1.*ops\.floating"),
    "a text": (lambda ops, x, n, t: x + "1", r"operator \+ = '1': is neither an array nor"),
    "a list": (lambda ops, x, n, t: x == [1, 2], r"operator == = \[1, 2\].*ops\.asarray"),
    "None": (lambda ops, x, n, t: x != None, r"operator != = None"),  # noqa: E711
    "33 bits": (lambda ops, x, n, t: n + 2**31, r"operator \+ = 2147483648: does not fit into 32"),
    "an array of 33 bits": (
        lambda ops, x, n, t: ops.asarray(np.array([2**40])),
        r"32 bits.*floats",
    ),
    "complex": (lambda ops, x, n, t: ops.asarray(1j), r"array = 'complex128': is no dtype of Ops"),
    "no entries": (lambda ops, x, n, t: ops.asarray([]), r"array = \(0,\): has no entries"),
    "an array as index": (lambda ops, x, n, t: x[n], r"index = .*ops\.take"),
    "a mask": (lambda ops, x, n, t: x[t], r"index = .*ops\.where for a mask"),
    "a list as index": (lambda ops, x, n, t: x[[0, 1]], r"index = \[0, 1\].*ops\.take"),
    "True as index": (lambda ops, x, n, t: x[True], r"index = True"),
    "out of range": (lambda ops, x, n, t: x[0, 4], r"index = 4: is out of range for axis 1"),
    "too many": (lambda ops, x, n, t: x[0, 0, 0], r"index = '0, 0, 0': has more parts.*axes \(2\)"),
    "two dots": (lambda ops, x, n, t: x[..., ...], r"index = '..., ...': has two"),
    "step 0": (lambda ops, x, n, t: x[::0], r"index = '::0': is no slice"),
    "an empty slice": (lambda ops, x, n, t: x[2:2], r"index = '2:2:': leaves none of 3"),
    "writing": (lambda ops, x, n, t: x.__setitem__(0, 1.0), r"arrays are not written into.*where"),
    "take out of range": (lambda ops, x, n, t: ops.take(x, [0, 3]), r"indices = 3.*-3 to 2"),
    "take by floats": (lambda ops, x, n, t: ops.take(x, x), r"indices = 'float.*no whole numbers"),
    "take by booleans": (lambda ops, x, n, t: ops.take(x, t), r"indices = 'bool'"),
    "pick of two": (lambda ops, x, n, t: ops.pick(x, [0, 1]), r"shape of indices = \(2,\).*\(3,\)"),
    "an axis": (lambda ops, x, n, t: ops.sum(x, axis=2), r"axis = 2: is none of the array's 2"),
    "an axis twice": (lambda ops, x, n, t: ops.max(x, (0, -2)), r"axis = \(0, -2\).*twice"),
    "axes": (lambda ops, x, n, t: ops.transpose(x, (0, 0)), r"axes = \(0, 0\): are not all 2"),
    "a shape": (lambda ops, x, n, t: ops.reshape(x, (5, -1)), r"shape = \(5, -1\).*12 entries"),
    "broadcasting": (lambda ops, x, n, t: x + x[:, :3], r"shapes = .*do not broadcast"),
    "@": (
        lambda ops, x, n, t: x @ x,
        r"operator @ = '\(3, 4\) @ \(3, 4\)'.*4 columns on the left, 3 rows on the right",
    ),
    "@ a number": (lambda ops, x, n, t: x @ 2.0, r"operator @ = '\(3, 4\) @ \(\)'"),
    "concat": (lambda ops, x, n, t: ops.concat([x, x[0]]), r"shapes = .*differ beside axis 0"),
    "stack": (lambda ops, x, n, t: ops.stack([x, x[:2]]), r"shapes = .*Stack arrays of one shape"),
    "conv2d": (lambda ops, x, n, t: ops.conv2d(x, x, x), r"conv2d = .*Give x \(B, C, H, W\)"),
    "pooling": (lambda ops, x, n, t: ops.max_pool2d(x[None, None], 4), r"pooling = .*size 4"),
}


def given(ops: Any) -> tuple[Any, Any, Any]:
    return ops.asarray(X), ops.asarray(X.astype(np.int32)), ops.asarray(X > 3)


def test_what_is_left_out_is_refused_by_name(ops: Any) -> None:
    arrays = given(ops)
    for call, text in REFUSED.values():
        with pytest.raises(InputError, match=text):
            call(ops, *arrays)


def test_what_an_array_has_not_is_named_with_the_remedy(ops: Any) -> None:
    with pytest.raises(AttributeError, match=r"has no 'mean': use ops\.mean\(x\)"):
        _ = given(ops)[0].mean


def test_only_a_scalar_has_a_gradient(ops: Any) -> None:
    with pytest.raises(InputError, match="is not a scalar"):
        ops.value_and_grad(lambda w: (w["x"] * 2, None))({"x": ops.asarray(X)})


def test_no_number_is_read_out_of_an_array_inside_a_net(kernels: Any) -> None:
    x = given(ContractOps(kernels, inside_net=True))[0]
    readings: list[Callable[[], Any]] = [
        lambda: float(x[0, 0]),
        lambda: bool(x[0, 0] > 1),
        lambda: int(x[0, 0]),
        lambda: np.asarray(x),
        lambda: np.mean(x),
        lambda: x.ops.to_numpy(x),
    ]
    for reading in readings:
        with pytest.raises(InputError, match=r"numbers are not known yet.*ops\.where"):
            reading()


def test_outside_a_net_numbers_can_be_read(ops: Any) -> None:
    x, n, t = given(ops)
    assert (float(x[1, 2]), int(n[2, 0]), bool(t[0, 0])) == (6.0, 8, False)
    np.testing.assert_array_equal(np.asarray(n), X)
    assert [len(row) for row in x] == [4, 4, 4]
    assert (x.ndim, x.size, str(n.dtype), str(t.dtype)) == (2, 12, "int32", "bool")
