"""Failures of signing in, by a keyed hash of what they were made with, and the locks that follow.

They are counted in memory, by hashes that are keyed with random bytes of this process. So no name
that was tried and no address is ever stored.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

LOCK_SECONDS: Final = 15 * 60
MOST_COUNTED: Final = 100_000


class Counted(NamedTuple):
    """With what failures are counted, such as a name, and how many of them lock it."""

    kind: str
    value: str
    most: int


class Failures:
    """Failures of the last `LOCK_SECONDS`; at most `MOST_COUNTED` values are counted.

    Past it the half with the fewest failures is forgotten: names that nobody tries twice cannot
    crowd out the one whose password is guessed.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._counts: dict[bytes, tuple[int, int]] = {}

    def count(self, values: Sequence[Counted], now: int) -> int:
        """Count a failure with each value, unless one is locked; return for how many seconds, or 0.

        Looking and counting are one act: many requests at once get no more tries than one by one.
        """
        with self._lock:
            seconds = max((self._left(value, now) for value in values), default=0)
            if not seconds:
                for value in values:
                    self._add(value, now)
            return seconds

    def of(self, value: Counted, now: int) -> int:
        """Return the failures with a value."""
        with self._lock:
            return self._entry(value, now)[0]

    def add(self, value: Counted, now: int) -> None:
        """Count a failure with a value, locked or not; the first one begins a new period."""
        with self._lock:
            self._add(value, now)

    def take_back(self, values: Iterable[Counted], failures: int = 1) -> None:
        """Count so many failures less with each value."""
        with self._lock:
            for value in values:
                key = self._hash(value)
                if key in self._counts:
                    count, since = self._counts[key]
                    self._counts[key] = max(0, count - failures), since

    def clear(self, value: Counted) -> None:
        """Forget the failures with a value."""
        with self._lock:
            self._counts.pop(self._hash(value), None)

    def _entry(self, value: Counted, now: int) -> tuple[int, int]:
        count, since = self._counts.get(self._hash(value), (0, now))
        return (count, since) if now < since + LOCK_SECONDS else (0, now)

    def _left(self, value: Counted, now: int) -> int:
        count, since = self._entry(value, now)
        return since + LOCK_SECONDS - now if count >= value.most else 0

    def _add(self, value: Counted, now: int) -> None:
        count, since = self._entry(value, now)
        key = self._hash(value)
        if key not in self._counts and len(self._counts) >= MOST_COUNTED:
            self._make_room(now)
        self._counts[key] = count + 1, since

    def _make_room(self, now: int) -> None:
        lasting = [item for item in self._counts.items() if now < item[1][1] + LOCK_SECONDS]
        lasting.sort(key=lambda item: item[1], reverse=True)
        self._counts = dict(lasting[: MOST_COUNTED // 2])

    def _hash(self, value: Counted) -> bytes:
        text = f"{value.kind}\0{value.value}".encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=16, key=self._key).digest()
