"""The sealing policy: from what waits in the inboxes, which survey versions are sealed now.

It decides alone when the server seals without being asked. It is looked at once a second, in the
web process or in ``hushpoll worker``, and knows of no report but how many wait.

A version is due when

- it holds ``seal_at`` reports and none has arrived since the look before;
- reports still arrive, and as many wait as `most_waiting` says: they arrived in bulk if at least
  ``max_bulk_reports`` came since the look before, and one by one otherwise;
- nothing has arrived for ``seal_idle_seconds``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hushpoll_server.config.settings import Settings

# Sealing costs less for each report the more there are, and devices that send reports wait for it.
# So while reports arrive one by one, sealing waits until there are so many times `seal_at`.
SINGLE_FACTOR: Final = 10
# Sealing holds the records that it moves in memory, up to four times.
SEALED_BYTES: Final = 64 * 2**20


def most_waiting(seal_at: int, record_size: int, factor: int) -> int:
    """Return the number of reports at which an inbox is sealed while more arrive.

    Parameters
    ----------
    seal_at : int
        The setting.
    record_size : int
        L of the version, in bytes.
    factor : int
        ``SINGLE_FACTOR``, or the database's ``BULK_FACTOR`` where reports arrive in bulk.
    """
    return max(seal_at, min(factor * seal_at, SEALED_BYTES // max(1, record_size)))


class SealingPolicy:
    """Remembers what waited at the last look, and says which inboxes are due.

    Parameters
    ----------
    settings : Settings
        ``seal_at``, ``seal_idle_seconds`` and ``max_bulk_reports``.
    bulk_factor : int
        At how many times ``seal_at`` this database seals while reports arrive in bulk.
    """

    def __init__(self, settings: Settings, *, bulk_factor: int) -> None:
        self._settings = settings
        self._bulk_factor = bulk_factor
        # By version: the reports that waited at the last look, and since when as many wait.
        self._seen: dict[int, tuple[int, float]] = {}

    def due(self, version_id: int, record_size: int, waiting: int, now: float) -> bool:
        """Look at one inbox, and return whether it is sealed now.

        Parameters
        ----------
        version_id : int
            The survey version.
        record_size : int
            L of the version, in bytes.
        waiting : int
            Reports in its inbox.
        now : float
            Seconds of a clock that never goes back.
        """
        settings = self._settings
        before, since = self._seen.get(version_id, (-1, now))
        if before != waiting:
            since = now
        self._seen[version_id] = waiting, since
        arrived = waiting - max(before, 0)
        full = settings.seal_at
        if arrived:
            in_bulk = arrived >= settings.max_bulk_reports
            full = most_waiting(full, record_size, self._bulk_factor if in_bulk else SINGLE_FACTOR)
        return waiting >= full or now - since >= settings.seal_idle_seconds

    def tried(self, version_id: int, waiting: int, now: float) -> None:
        """Note that sealing was tried; what is still there waits anew."""
        self._seen[version_id] = waiting, now

    def keep_only(self, version_ids: Collection[int]) -> None:
        """Forget every other version: its inbox is empty."""
        self._seen = {key: seen for key, seen in self._seen.items() if key in version_ids}
