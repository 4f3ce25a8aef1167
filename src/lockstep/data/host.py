"""The public host: files by their name over HTTP.

Nothing is taken on trust: a file enters the cache only after its digest was checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.data.cache import cache_folder, store
from lockstep.data.editions import DataFile, PlaceError, Progress, Verified, check
from lockstep.data.places import read_verified


@dataclass(frozen=True)
class PublicHost:
    """Files at `address` + their base name; the seconds are those of `download.Limits`."""

    address: str
    label: str = "public host"
    answer_seconds: float = 10.0
    read_seconds: float = 8.0
    total_seconds: float = 300.0
    remote: bool = True

    def get(self, files: Sequence[DataFile], progress: Progress) -> list[Verified]:
        if len(files) == 1:
            return [self._get(files[0], progress)]
        return [_kept(file) or self._get(file, progress) for file in files]

    def _get(self, file: DataFile, progress: Progress) -> Verified:
        # imported late: 40 ms that only a download needs
        from lockstep.data.download import Limits, download

        limits = Limits(self.answer_seconds, self.read_seconds, self.total_seconds)
        progress(f"{self.label}: asking for {self.address}{file.base_name}")
        raw = download(self.address + file.base_name, limits, progress)
        edition, content = check(file, file.base_name, raw)
        return Verified(store(file.names[0], raw), edition, content)


def _kept(file: DataFile) -> Verified | None:
    """What an earlier, broken-off fetch of several files already brought."""
    try:
        return read_verified(cache_folder(), file)
    except PlaceError:
        return None
