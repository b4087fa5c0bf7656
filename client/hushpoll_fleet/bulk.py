"""Bulk mode: the kernels perturb many respondents at once, and batches of reports are uploaded.

For simulation only: the noise comes from a numpy generator, which is not meant for secrets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hushpoll_client import Published, TransportError
from hushpoll_client.analyst import AnalystClient
from hushpoll_fleet.account import Account, unwatched
from hushpoll_fleet.roster import Roster
from hushpoll_shared.wire import ID_SIZE

if TYPE_CHECKING:
    import numpy as np

MOST_REPORTS: Final = 10_000
_MOST_BYTES: Final = 8 * 2**20


def batch_size(published: Published) -> int:
    """Return the reports per upload: at most 10,000, and at most 8 MiB in all."""
    return max(1, min(MOST_REPORTS, _MOST_BYTES // (ID_SIZE + published.layout.record_size)))


def play_bulk(
    client: AnalystClient,
    published: Published,
    roster: Roster,
    account: Account,
    rng: np.random.Generator,
    *,
    progress: Callable[[int], None] = unwatched,
) -> Account:
    """Perturb and upload all respondents, and keep the account.

    Parameters
    ----------
    client : AnalystClient
        With a token of scope ``submit``.
    published : Published
        The survey.
    roster : Roster
        The respondents.
    account : Account
        Starts with the number of respondents; also right if an upload fails.
    rng : numpy.random.Generator
        Source of noise. The same state gives the same records, whatever the report ids.
    progress : callable
        Called with the number of respondents just done.

    Returns
    -------
    Account
        The same object.

    Raises
    ------
    MissingExtra
        Without the extra ``kernels``.
    HushpollError
        If a batch is refused as a whole or cannot be sent.
    """
    import numpy as np

    from hushpoll_shared.batch import encode_many, pack_rows

    codes = roster.arrays()
    step = batch_size(published)
    began = time.monotonic()
    try:
        for start in range(0, len(roster), step):
            part = {name: column[start : start + step] for name, column in codes.items()}
            records = encode_many(published, part, rng)
            random_bytes = np.frombuffer(os.urandom(ID_SIZE * len(records)), dtype=np.uint8)
            ids = random_bytes.reshape(-1, ID_SIZE)
            try:
                receipt = client.submit_bulk(
                    published.name, pack_rows(published.digest, ids, records)
                )
            except TransportError as error:
                if error.retryable:
                    account.pending += len(records)
                raise
            account.accepted += receipt.accepted
            account.duplicate += receipt.duplicate
            account.rejected.update(str(one.get("code")) for one in receipt.rejected)
            progress(len(records))
    finally:
        account.seconds = time.monotonic() - began
    return account
