"""Folds of records for cross-fitting, dealt by their bytes and the seed, whatever their order is.

Exports of one survey hold the same records in another order each, since reports are shuffled. So
that they give the same figures, a record's place does not count. Each record gets a keyed hash of
its bytes; equal records get one of their bytes and of 0, 1, 2 ..., whichever of them is which,
since they are the same in all that is computed. Rows are sorted by their hashes and dealt in turn.

Over the choice of the key that is a uniformly random order, so folds are dealt at random like
cards: equal records fall into the same fold or into different ones as if they were different. They
must not have one hash for all. If they then shared a fold, its model would know nothing of them.
And if they were dealt in turn, the folds would be stratified on the whole record: where a row's
label is positive, more positive rows remain for its model than where it is not, so that the model
knows a part of the label that it is judged by.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import FOLDS
from hushpoll_training.learners.learner import check_seed

_DEALING: Final = b"folds"
"""Keeps these hashes apart from every other use of the same seed."""
_BYTES: Final = 16


def in_order(records: Records, seed: int) -> Records:
    """Return the records in an order that does not depend on theirs; see :func:`order_of`."""
    return records.take(order_of(records, seed))


def order_of(records: Records, seed: int) -> npt.NDArray[np.int64]:
    """Return the places of the records by ascending hash, int64[n]."""
    check_seed(seed)
    key = _DEALING + seed.to_bytes(16, "big")
    n, width = records.rows.shape
    data = records.rows.tobytes()
    hashes = _numbers(
        b"".join(
            blake2b(data[start : start + width], digest_size=_BYTES, key=key).digest()
            for start in range(0, n * width, width)
        )
    )
    order = _sorted(hashes)
    alike = np.zeros(n, np.bool_)
    alike[1:] = (hashes[order[1:]] == hashes[order[:-1]]).all(axis=1)
    places = np.arange(n)
    copy = places - np.maximum.accumulate(np.where(alike, 0, places))
    again = np.flatnonzero(copy > 0)
    if again.size:
        repeated = order[again]
        hashes[repeated] = _numbers(
            b"".join(
                blake2b(
                    own.tobytes() + int(number).to_bytes(8, "big"), digest_size=_BYTES, key=key
                ).digest()
                for own, number in zip(hashes[repeated], copy[again], strict=True)
            )
        )
        order = _sorted(hashes)
    return order


def folds_in_order(n: int, folds: int) -> npt.NDArray[np.int64]:
    """Return the folds of n records that are in the order of their hashes, int64[n]."""
    check_folds(n, folds)
    return np.arange(n) % folds


def check_folds(n: int, folds: int) -> None:
    """Refuse a number of folds that is not in [2, n]."""
    if not 2 <= folds <= n:
        raise InvalidParameter(
            f"folds is {folds}; it must lie in [2, {n}], the number of records: use {FOLDS}",
            field="folds",
        )


def _numbers(digests: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)


def _sorted(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    return np.asarray(np.lexsort((hashes[:, 1], hashes[:, 0])), np.int64)
