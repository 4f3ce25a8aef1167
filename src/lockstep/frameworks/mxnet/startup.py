"""MXNet is imported here, without the warnings that its import gives."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # mxnet 1.9.1 reads names that NumPy deprecates (np.bool, np.mirr), and versions by distutils
    warnings.simplefilter("ignore", DeprecationWarning)
    import mxnet as mx

__all__ = ["mx"]
