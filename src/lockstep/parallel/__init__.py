"""Many devices: splitting a batch, summing over devices, and what that costs. No training here.

- `splitting`: examples over devices
- `algorithms`, `transfers`: an allreduce as a plan of transfers, pure and countable
- `local`, `processes`, `shared_plans`: carry out a plan over buffers in one process, between
  processes, or through memory that they share
- `collective`: what a training loop uses, on one device or many
- `ranks`: a process as one of several; `children`, `child`: starting processes, and being one
- `devices`: what each framework can compute on here
- `cost`, `calibration`: how long a plan should take, from what this machine was measured to do
- `benchmark`, `measurements`: how long it does take
- `scaling` and what begins with it: what a step on many devices will take, from one device's
"""
