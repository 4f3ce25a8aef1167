"""The contract of Ops (`lockstep/ops.py`), carried out once for every framework.

`ContractOps` decides what a dtype, an axis or an index means, and asks a framework's kernels only
for what all of them do alike: operations on arrays of one dtype, with axes counted from 0 and
slices that go forwards. A person's net is written over it. Our own models are written for the
kernels themselves, which have faster parts. Nothing here imports a framework.
"""

from __future__ import annotations

from lockstep.contract.array import Array
from lockstep.contract.contract_ops import ContractOps

__all__ = ["Array", "ContractOps"]
