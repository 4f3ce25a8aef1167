"""One process that computes outputs: `python -m lockstep.training.outputs_worker JOB`.

It reads given.safetensors of that folder (weights, x) and writes outputs.safetensors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lockstep.processes.child import Send, serve


def work(job: dict[str, Any], send: Send) -> None:
    """Compute the outputs of a model over Ops in this Python's framework."""
    from lockstep.array_files import from_file, to_bytes
    from lockstep.data.encoding import Encoding
    from lockstep.spec import RunSpec
    from lockstep.training.model_outputs import TrainedModel, outputs_here

    folder = Path(job["folder"])
    arrays, _ = from_file(folder / "given.safetensors")
    x = arrays.pop("x")
    weights = {name.removeprefix("weights/"): value for name, value in arrays.items()}
    encoding = None if job["encoding"] is None else Encoding.from_dict(job["encoding"])
    trained = TrainedModel(RunSpec.from_dict(job["spec"]), weights, encoding)
    found = outputs_here(trained, x, job["framework"])
    (folder / "outputs.safetensors").write_bytes(to_bytes({"outputs": found}, {}))
    send({})


if __name__ == "__main__":
    serve(work)
