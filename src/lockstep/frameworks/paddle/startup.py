"""What Paddle reads when it is imported; the import is here, without the warnings that it gives."""

from __future__ import annotations

import os
import warnings
from pathlib import Path


def _is_amd_with_avx2() -> bool:
    described = Path("/proc/cpuinfo")
    text = described.read_text() if described.exists() else ""
    return "AuthenticAMD" in text and " avx2" in text


os.environ.setdefault("GLOG_minloglevel", "2")  # its C++ log has a line for every executor started
if _is_amd_with_avx2():
    # Paddle's wheel brings an MKL that gives other makers' processors SSE only: a third of the
    # speed of the AVX2 that this asks for
    os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")

with warnings.catch_warnings():
    # about a compiler cache that only extensions written in C++ would use
    warnings.filterwarnings("ignore", message="No ccache found", category=UserWarning)
    import paddle

__all__ = ["paddle"]
