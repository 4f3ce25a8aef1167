"""One package per framework, and what they share. The contract is in `protocol.py`.

The same file name has the same role in every framework's package:

- `__init__.py`: what can be said without importing the framework. `DEVICES_ARE_PROCESSES = True` if
  a process has only one device; `LAYERS`, the package that has the framework's layers, if it is
  another one ("" if it has none); `NEWEST_PYTHON`, if it runs in no newer one; `IMPORTS`, the
  package that must be installed, if it has another name.
- `adapter.py`: ends with `framework = Framework(...)`, which says where everything else is.
- `ops.py`: its kernels, the operations of `lockstep/ops.py` on its own arrays.
- `startup.py`, where needed: what must be set before the framework is imported or computes. The
  registry imports it first.
- `program.py`, where a run is compiled: how a task and a spec become a program.
- `devices.py`, where there are several: how a program runs on them.
- `fused.py` (a folder where it is long): faster equivalent implementations.
- `layout.py`, `concise.py`, `module.py`, for the concise style: how the framework's own layers keep
  a model's arrays; the models in its layers, with its optimizers; programs of them, and of a
  person's own modules.
- `arrays.py`, `recording.py` (mxnet, mindspore): operators that its arrays lack or that differ; how
  a function is recorded as a graph.

What only one package has: numpy's `autodiff.py` (gradient rules) and `windows.py` (convolution and
pooling), torch's `exchange.py` (sums of gradients over processes), mindspore's `kernels.py`
(operations on plain tensors, which its graphs call).

Only `adapter.py` and `ops.py` are necessary. What they share: `step.py` (one training step, over
Ops), `state.py`, `programs.py` and `module_program.py` (the programs), `device_share.py` and
`replicas.py` (several devices), `fused.py`, `layout.py` and `concise.py`. A package outside this
one, with the same files, is made known by `registry.add`.
"""
