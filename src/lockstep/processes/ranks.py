"""A process as one of several that carry out a run together, as its environment variables say.

The variables are torchrun's (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,
MASTER_PORT), so that the processes find each other in the same way, whatever starts them.
Processes of one machine that Lockstep itself starts can meet at a file instead.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from lockstep.errors import InputError

STORE = "LOCKSTEP_STORE"  # the file at which processes of one machine meet
PATIENCE = "LOCKSTEP_PATIENCE"  # seconds that one waits for another


@dataclass(frozen=True)
class Rank:
    """One process among `world_size`, `local_world_size` of them on this machine.

    They meet at the file `store` where their engine can, or at `address` (host:port).
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    store: str = ""
    address: str = ""
    restarts: int = 0  # how often all were started anew, after one was lost

    def variables(self) -> dict[str, str]:
        """The environment of that process.

        >>> Rank(1, 2, 1, 2, store="/tmp/store").variables()["RANK"]
        '1'
        """
        host, _, port = self.address.rpartition(":")
        meeting = {STORE: self.store} if self.store else {}
        meeting |= {"MASTER_ADDR": host, "MASTER_PORT": port} if self.address else {}
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.local_world_size),
            **meeting,
        }


def current(variables: Mapping[str, str] = os.environ) -> Rank | None:
    """Which process this is; None if it is alone.

    >>> current({})
    >>> current(Rank(1, 4, 1, 2, address="10.0.0.1:29500").variables()).address
    '10.0.0.1:29500'
    """
    store = variables.get(STORE, "")
    if "WORLD_SIZE" not in variables or not (store or "MASTER_ADDR" in variables):
        return None
    rank, world_size = _whole(variables, "RANK"), _whole(variables, "WORLD_SIZE")
    host, port = variables.get("MASTER_ADDR", ""), variables.get("MASTER_PORT", "")
    return Rank(
        rank,
        world_size,
        local_rank=_whole(variables, "LOCAL_RANK", rank),
        local_world_size=_whole(variables, "LOCAL_WORLD_SIZE", world_size),
        store=store,
        address=f"{host}:{port}" if host else "",
        restarts=_whole(variables, "TORCHELASTIC_RESTART_COUNT", 0),
    )


def is_first(variables: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is alone, or rank 0: it writes and reports for all.

    >>> is_first({}), is_first(Rank(1, 2, 1, 2, store="/tmp/store").variables())
    (True, False)
    """
    place = current(variables)
    return place is None or place.rank == 0


def patience(variables: Mapping[str, str] = os.environ) -> float:
    """Seconds that one process of a run waits for another: LOCKSTEP_PATIENCE, or 300.

    >>> patience({}), patience({"LOCKSTEP_PATIENCE": "20"})
    (300.0, 20.0)
    """
    text = variables.get(PATIENCE, "300")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise InputError(PATIENCE, text, "is not a number of seconds", "Give a positive number.")
    return seconds


def _whole(variables: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = variables.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        raise InputError(name, text, "is not a number of a process", "Start it by torchrun.")
    return int(text)


def free_address() -> str:
    """An address on this machine at which nobody listens.

    >>> free_address().partition(":")[0]
    '127.0.0.1'
    """
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        host, port = place.getsockname()
    return f"{host}:{port}"


def is_loopback(address: str) -> bool:
    """Whether processes that meet there are all on this machine."""
    return address.rpartition(":")[0] in ("", "127.0.0.1", "::1", "[::1]", "localhost")
