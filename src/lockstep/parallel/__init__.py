"""Many devices: splitting a batch, summing over devices, and what that costs. No training here.

- `splitting`: examples over devices, and means put together again
- `algorithms`, `transfers`: an allreduce as a plan of transfers, pure and countable
- `local`, `processes`: carry out a plan over buffers in one process, or between processes
- `collective`: what a training loop uses, on one device or many
- `cost`, `calibration`: how long a plan should take, from what this machine was measured to do
- `benchmark`: how long it does take
- `scaling`: what a step on many devices will take, from one device's
"""
