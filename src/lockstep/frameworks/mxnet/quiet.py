"""MXNet without the warnings of its import: every module of the adapter takes it from here."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # mxnet 1.9.1 reads names that NumPy deprecates (np.bool, np.mirr), and versions by distutils
    warnings.simplefilter("ignore", DeprecationWarning)
    import mxnet as mx
    from mxnet import autograd, gluon, npx

__all__ = ["autograd", "gluon", "mx", "npx"]
