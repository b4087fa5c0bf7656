"""Bulk mode: the kernels perturb many simulated respondents at once, and batches are uploaded.

For simulation only: the noise comes from a numpy generator, which is not meant for secrets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hushpoll_client import Published, TransportError
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.behaviour import POISONERS, Behaviour, other_digest
from hushpoll_fleet.sending.account import Account, no_progress
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.wire.reports import ID_SIZE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_REPORTS: Final = 10_000
_MOST_BYTES: Final = 8 * 2**20
_AT_ONCE: Final = (Behaviour.HONEST, Behaviour.REPLAY, *POISONERS)


@dataclass(frozen=True, slots=True)
class Block:
    """Reports of consecutive respondents."""

    ids: NDArray[np.uint8]
    """uint8[n, 16], random."""

    records: NDArray[np.uint8]
    """uint8[n, L]"""

    behaviours: Sequence[Behaviour]

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, *behaviours: Behaviour) -> Block:
        """Return a block of the rows that behave like any of `behaviours`."""
        rows = [row for row, behaviour in enumerate(self.behaviours) if behaviour in behaviours]
        return Block(self.ids[rows], self.records[rows], [self.behaviours[row] for row in rows])


def block_size(published: Published) -> int:
    """Return the reports per upload: at most 10,000, and at most 8 MiB in all."""
    return max(1, min(MOST_REPORTS, _MOST_BYTES // (ID_SIZE + published.layout.record_size)))


def blocks(fleet: Fleet) -> Iterator[Block]:
    """Perturb all respondents, a block at a time; needs the extra ``kernels``.

    The number of the fleet's first respondent is a multiple of `block_size`.
    """
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "simulating in bulk") from None
    from hushpoll_shared.wire.batch import encode_many

    published, seed = fleet.published, fleet.noise_seed
    columns = fleet.respondents.arrays()
    size = block_size(published)
    for start in range(0, len(fleet), size):
        part = {name: column[start : start + size] for name, column in columns.items()}
        number = fleet.first + start
        # A stream for each block, so that parts played elsewhere give the same records.
        rng = np.random.default_rng(None if seed is None else [seed, 1, number // size])
        records = encode_many(published, part, rng)
        behaviours = [one.behaviour for one in fleet.assignments[start : start + size]]
        for row, behaviour in enumerate(behaviours):
            if behaviour in POISONERS:
                answers = {
                    entry.name: entry.answer_of(int(part[entry.name][row]))
                    for entry in published.attributes
                }
                record = fleet.fake_record(number + row, behaviour, answers)
                records[row] = np.frombuffer(record, dtype=np.uint8)
        random_bytes = np.frombuffer(os.urandom(ID_SIZE * len(records)), dtype=np.uint8)
        yield Block(random_bytes.reshape(-1, ID_SIZE), records, behaviours)


def play_bulk(
    client: AnalystClient,
    fleet: Fleet,
    account: Account,
    *,
    progress: Callable[[int], None] = no_progress,
) -> Account:
    """Perturb and upload all respondents, and return the account, right also if an upload fails.

    Arrivals have no meaning here; offline respondents come last. The client's token has scope
    ``submit``. `progress` is called with the number of respondents just done.
    """
    from hushpoll_shared.wire.batch import pack_rows

    digest = fleet.published.digest

    def send(block: Block, digest: str = digest) -> None:
        if len(block):
            packed = pack_rows(digest, block.ids, block.records)
            account.upload(client, fleet.published.name, packed, len(block))

    offline: list[Block] = []
    began = time.monotonic()
    try:
        for block in blocks(fleet):
            send(block.of(*_AT_ONCE))
            account.poisoned += len(block.of(*POISONERS))
            account.replays += len(again := block.of(Behaviour.REPLAY))
            send(again)
            account.misversioned += len(unknown := block.of(Behaviour.WRONG_VERSION))
            try:
                send(unknown, other_digest(digest))
            except TransportError as error:
                code = (error.problem or {}).get("code")
                if error.retryable or not isinstance(code, str):
                    raise
                # The whole batch is for no version, so all of it is refused at once.
                account.rejected[code] += len(unknown)
            offline.append(block.of(Behaviour.OFFLINE))
            progress(len(block) - len(offline[-1]))
        for late in offline:
            send(late)
            progress(len(late))
    finally:
        account.seconds = time.monotonic() - began
    return account
