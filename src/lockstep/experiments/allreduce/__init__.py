"""Which allreduce is the fastest here, and does the time follow from bytes and rounds?

- `algorithms`, `transfers`: an allreduce as a plan of transfers, pure and countable
- `local_plans`, `process_plans`, `shared_plans`: carry out a plan over buffers in one process,
  between processes, or through memory that they share
- `cost`, `calibration`: how long a plan should take, from what this machine was measured to do
- `benchmark`, `measurements`: how long it does take
"""
