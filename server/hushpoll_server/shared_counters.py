"""Counters with an expiry in memory that forked processes share: a storage for ``limits``.

The library's own memory storage counts in one process, so that a limit would be as many times too
large as there are workers. Here the memory is mapped before the fork. A worker that is killed in
the middle of a count leaves no lock behind: the kernel takes back what a process had locked.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from limits.storage import Storage

SCHEME: Final = "hushpoll-shared"
DIGEST_SIZE: Final = 16
# digest of the key, end of the window in seconds since 1970, hits
SLOT: Final = struct.Struct(f"={DIGEST_SIZE}sdQ")
WAYS: Final = 8
SLOTS: Final = 65_536


class SharedMemory:
    """Memory and locks that survive a fork and are shared over it.

    Parameters
    ----------
    slots : int
        Keys that are counted at a time, a multiple of `WAYS`. Where more come within one window,
        those with the fewest hits are forgotten, so that a crowd of new keys cannot free one that
        is over its limit.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self.memory = mmap.mmap(-1, slots * SLOT.size)
        self.buckets = slots // WAYS
        # Empty, without a name, and never written to: only its ranges are locked.
        self._file, path = tempfile.mkstemp()
        Path(path).unlink()
        weakref.finalize(self, os.close, self._file)
        self._lock = threading.Lock()
        own = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _renew_lock(own))

    @contextmanager
    def locked(self, bucket: int) -> Iterator[int]:
        """Hold one bucket against all threads and processes; yields its offset in bytes."""
        with self._lock:  # a file's locks are the process's, not the thread's
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1, bucket)
            try:
                yield bucket * WAYS * SLOT.size
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, bucket)


def _renew_lock(reference: weakref.ref[SharedMemory]) -> None:
    shared = reference()
    if shared is not None:
        shared._lock = threading.Lock()


class SharedCounters(Storage):
    """Fixed windows in a `SharedMemory`; see ``limits.storage.Storage``.

    Parameters
    ----------
    uri : str or None
        Ignored; the library hands it over.
    shared : SharedMemory
        Where to count.
    clock : callable
        Seconds since 1970.
    """

    STORAGE_SCHEME = [SCHEME]  # noqa: RUF012  # as the library declares it

    def __init__(
        self,
        uri: str | None = None,
        *,
        shared: SharedMemory,
        clock: Callable[[], float] = time.time,
        wrap_exceptions: bool = False,
    ) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        self._shared = shared
        self._clock = clock

    @property
    def base_exceptions(self) -> type[Exception]:
        """What the library wraps: nothing in particular fails here."""
        return OSError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count `amount` hits of a key and return its hits within `expiry` seconds."""
        now = self._clock()
        digest = _digest(key)
        with self._shared.locked(self._bucket(digest)) as start:
            at, end, hits = self._find(digest, start, now)
            if end <= now:
                end, hits = now + expiry, 0
            SLOT.pack_into(self._shared.memory, at, digest, end, hits + amount)
            return hits + amount

    def get(self, key: str) -> int:
        """Return a key's hits in its window; 0 without one."""
        return self._look_up(key)[1]

    def get_expiry(self, key: str) -> float:
        """Return when a key's window ends, in seconds since 1970; now without one."""
        return self._look_up(key)[0]

    def check(self) -> bool:
        """Return that the storage works: it is memory."""
        return True

    def reset(self) -> int | None:
        """Forget every key."""
        size = WAYS * SLOT.size
        for bucket in range(self._shared.buckets):
            with self._shared.locked(bucket) as start:
                self._shared.memory[start : start + size] = bytes(size)
        return None

    def clear(self, key: str) -> None:
        """Forget one key."""
        digest = _digest(key)
        with self._shared.locked(self._bucket(digest)) as start:
            at, end, _ = self._find(digest, start, self._clock())
            if end:
                SLOT.pack_into(self._shared.memory, at, bytes(DIGEST_SIZE), 0.0, 0)

    def _look_up(self, key: str) -> tuple[float, int]:
        now = self._clock()
        digest = _digest(key)
        with self._shared.locked(self._bucket(digest)) as start:
            _, end, hits = self._find(digest, start, now)
        return (end, hits) if end > now else (now, 0)

    def _bucket(self, digest: bytes) -> int:
        return int.from_bytes(digest[:8], "little") % self._shared.buckets

    def _find(self, digest: bytes, start: int, now: float) -> tuple[int, float, int]:
        """Return offset, end and hits of a key's slot; of the slot to take, with end 0, if new."""
        rows = list(SLOT.iter_unpack(self._shared.memory[start : start + WAYS * SLOT.size]))
        for way, (found, end, hits) in enumerate(rows):
            if found == digest:
                return start + way * SLOT.size, end, hits
        free = min(range(WAYS), key=lambda way: (rows[way][1] > now, rows[way][2], rows[way][1]))
        return start + free * SLOT.size, 0.0, 0


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()
