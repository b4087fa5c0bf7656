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
from hushpoll_fleet.behaviour.plan import POISONERS, Assignment, Behaviour, FleetPlan
from hushpoll_fleet.behaviour.poisoning import other_digest, poisoned
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_fleet.sending.account import Account, unwatched
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.wire.reports import ID_SIZE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_REPORTS: Final = 10_000
_MOST_BYTES: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Block:
    """Reports of consecutive respondents.

    Attributes
    ----------
    ids : uint8[n, 16]
        Random ids.
    records : uint8[n, L]
        Records.
    behaviours : sequence of Behaviour
        Of each row.
    """

    ids: NDArray[np.uint8]
    records: NDArray[np.uint8]
    behaviours: Sequence[Behaviour]

    def rows(self, *behaviours: Behaviour) -> list[int]:
        """Return the indices of the rows that behave like any of `behaviours`."""
        return [row for row, one in enumerate(self.behaviours) if one in behaviours]

    def some(self, rows: Sequence[int]) -> Block:
        """Return a block of some of the rows."""
        chosen = list(rows)
        return Block(
            self.ids[chosen], self.records[chosen], [self.behaviours[row] for row in chosen]
        )


def block_size(published: Published) -> int:
    """Return the reports per upload: at most 10,000, and at most 8 MiB in all."""
    return max(1, min(MOST_REPORTS, _MOST_BYTES // (ID_SIZE + published.layout.record_size)))


def blocks(
    published: Published,
    respondents: SimulatedRespondents,
    assignments: Sequence[Assignment],
    *,
    plan: FleetPlan,
    seed: int | None,
    first: int = 0,
) -> Iterator[Block]:
    """Perturb all respondents, a block at a time.

    Parameters
    ----------
    published : Published
        The survey.
    respondents : SimulatedRespondents
        The respondents.
    assignments : sequence of Assignment
        The part of each.
    plan : FleetPlan
        What poisoners aim at.
    seed : int or None
        The same seed gives the same records, whatever the ids; None draws anew.
    first : int
        Number of the first respondent, a multiple of `block_size`, for a fleet played in parts.

    Raises
    ------
    MissingExtra
        Without the extra ``kernels``.
    """
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "simulating in bulk") from None
    from hushpoll_shared.wire.batch import encode_many

    columns = respondents.arrays()
    size = block_size(published)
    for start in range(0, len(respondents), size):
        part = {name: column[start : start + size] for name, column in columns.items()}
        number = first + start
        # A stream for each block, so that parts played elsewhere give the same records.
        rng = np.random.default_rng(None if seed is None else [seed, 1, number // size])
        records = encode_many(published, part, rng)
        behaviours = [assignment.behaviour for assignment in assignments[start : start + size]]
        for row in [row for row, one in enumerate(behaviours) if one in POISONERS]:
            answers = {
                entry.name: entry.domain[int(part[entry.name][row])]
                for entry in published.attributes
            }
            record = poisoned(
                published,
                behaviours[row],
                answers,
                targets=plan.aims(published),
                rng=plan.stream("poison", number + row),
            )
            records[row] = np.frombuffer(record, dtype=np.uint8)
        random_bytes = np.frombuffer(os.urandom(ID_SIZE * len(records)), dtype=np.uint8)
        yield Block(random_bytes.reshape(-1, ID_SIZE), records, behaviours)


_AT_ONCE = (Behaviour.HONEST, Behaviour.REPLAY, *POISONERS)
_HONEST = FleetPlan()


def play_bulk(
    client: AnalystClient,
    published: Published,
    respondents: SimulatedRespondents,
    account: Account,
    *,
    seed: int | None = None,
    plan: FleetPlan = _HONEST,
    assignments: Sequence[Assignment] | None = None,
    first: int = 0,
    progress: Callable[[int], None] = unwatched,
) -> Account:
    """Perturb and upload all respondents, and keep the account.

    Those who are offline come last.

    Parameters
    ----------
    client : AnalystClient
        With a token of scope ``submit``.
    published : Published
        The survey.
    respondents : SimulatedRespondents
        The respondents.
    account : Account
        Starts with the number of respondents; also right if an upload fails.
    seed : int or None
        The same seed gives the same records, whatever the report ids; None draws anew.
    plan : FleetPlan
        Who behaves how; arrivals have no meaning here.
    assignments : sequence of Assignment or None
        The part of each respondent; by default those of `plan`.
    first : int
        Number of the first respondent, a multiple of the block size, for a fleet played in parts.
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
    if assignments is None:
        assignments = plan.assignments(len(respondents))
    upload = _Upload(client, published, account)
    offline: list[Block] = []
    began = time.monotonic()
    try:
        for block in blocks(published, respondents, assignments, plan=plan, seed=seed, first=first):
            upload.send(block.some(block.rows(*_AT_ONCE)))
            upload.send_again(block.some(block.rows(Behaviour.REPLAY)))
            upload.send_misversioned(block.some(block.rows(Behaviour.WRONG_VERSION)))
            late = block.some(block.rows(Behaviour.OFFLINE))
            offline.append(late)
            progress(len(block.ids) - len(late.ids))
        for late in offline:
            upload.send(late)
            progress(len(late.ids))
    finally:
        account.seconds = time.monotonic() - began
    return account


class _Upload:
    """Uploads blocks, and enters them into the account."""

    def __init__(self, client: AnalystClient, published: Published, account: Account) -> None:
        self._client = client
        self._published = published
        self._account = account

    def send(self, block: Block) -> None:
        self._post(block, self._published.digest)
        self._account.poisoned += len(block.rows(*POISONERS))

    def send_again(self, block: Block) -> None:
        self._account.replays += len(block.ids)
        self._post(block, self._published.digest)

    def send_misversioned(self, block: Block) -> None:
        if not len(block.ids):
            return
        self._account.misversioned += len(block.ids)
        try:
            self._post(block, other_digest(self._published.digest))
        except TransportError as error:
            code = (error.problem or {}).get("code")
            if error.retryable or not isinstance(code, str):
                raise
            # The whole batch is for no version, so all of it is refused at once.
            self._account.rejected[code] += len(block.ids)

    def _post(self, block: Block, digest: str) -> None:
        from hushpoll_shared.wire.batch import pack_rows

        if not len(block.ids):
            return
        account = self._account
        try:
            receipt = self._client.submit_bulk(
                self._published.name, pack_rows(digest, block.ids, block.records)
            )
        except TransportError as error:
            if error.retryable:
                account.pending += len(block.ids)
            raise
        account.enter(receipt)
