"""Shuffling more rows than fit into memory.

Each row gets a random key. Its first bits choose a bucket, a temporary file; each bucket is read
back and put into the order of fresh keys. That is sorting by one long key, so every order of all
rows has the same probability, as with :func:`hushpoll_server.store.shuffle.permutation`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt

from hushpoll_server.store.shuffle import shuffled

Rows = npt.NDArray[np.uint8]

# Of one bucket. Reading it back takes about three times as much for a moment.
BUCKET_BYTES = 32 * 2**20
MOST_BUCKETS = 512
ROWS_PER_BLOCK = 65_536


class Mixed:
    """Rows in a uniformly random order; iterating yields them once, in blocks.

    The rows are taken in at once. Those of more than one bucket wait in unnamed temporary files
    (``TMPDIR``), which the system removes with the process.

    Parameters
    ----------
    blocks : iterable of uint8[m, L]
        The rows.
    rows : int
        How many there are, or about so many.
    record_size : int
        L, in bytes.
    """

    def __init__(self, blocks: Iterable[Rows], *, rows: int, record_size: int) -> None:
        self._record_size = record_size
        self._stack = ExitStack()
        self._held: list[Rows] = []
        self._files: list[IO[bytes]] = []
        self.rows = 0
        wanted = -(-rows * record_size // BUCKET_BYTES)
        try:
            # A power of two, so that bits of the key choose without a bias.
            if wanted > 1:
                self._open(min(MOST_BUCKETS, 1 << (wanted - 1).bit_length()))
            for block in blocks:
                self.rows += len(block)
                self._take(block)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Rows]:
        try:
            for bucket in self._buckets():
                mixed = shuffled(bucket)
                for start in range(0, len(mixed), ROWS_PER_BLOCK):
                    yield mixed[start : start + ROWS_PER_BLOCK]
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the rows."""
        self._stack.close()
        self._held.clear()

    def _open(self, buckets: int) -> None:
        self._files = [
            self._stack.enter_context(TemporaryFile())  # noqa: SIM115  # the stack closes it
            for _ in range(buckets)
        ]

    def _take(self, block: Rows) -> None:
        if not self._files:
            self._held.append(block)
            return
        bucket = np.frombuffer(os.urandom(2 * len(block)), np.uint16) % len(self._files)
        # Rows of a bucket next to each other, so that each file is written to once a block.
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(len(self._files) + 1))
        sorted_rows = block[order]
        for file, start, end in zip(self._files, ends[:-1], ends[1:], strict=True):
            file.write(sorted_rows[start:end].tobytes())

    def _buckets(self) -> Iterator[Rows]:
        if not self._files and self._held:
            rows = np.concatenate(self._held)
            self._held.clear()
            yield rows
        for file in self._files:
            file.seek(0)
            data = file.read()
            file.close()
            yield np.frombuffer(data, np.uint8).reshape(-1, self._record_size)
