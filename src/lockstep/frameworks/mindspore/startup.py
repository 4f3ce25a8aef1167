"""What MindSpore reads when it is imported, and what must be set before it computes."""

from __future__ import annotations

import os
from contextlib import suppress

os.environ.setdefault("GLOG_v", "4")  # its errors come as exceptions: no log lines beside them

import mindspore as ms
from mindspore.device_context.cpu import op_tuning

ms.set_device("CPU")
ms.runtime.launch_blocking()  # handing small operations to other threads costs more than they do
with suppress(RuntimeError):  # these can be set once: what a person has set before stays
    ms.runtime.dispatch_threads_num(1)
with suppress(RuntimeError):
    op_tuning.threads_num(int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1))  # not 25
