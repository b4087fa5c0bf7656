"""Bulk mode: the kernels perturb many respondents at once, and batches of reports are uploaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hushpoll_client import Published, TransportError
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.behaviour.misbehaviour import other_digest
from hushpoll_fleet.behaviour.plan import Conduct, Role
from hushpoll_fleet.behaviour.shares import POISONERS, Behaviour
from hushpoll_fleet.population.coded_respondents import Roster
from hushpoll_fleet.sending.account import Account, unwatched
from hushpoll_fleet.sending.blocks import Block, blocks

_AT_ONCE = (Behaviour.HONEST, Behaviour.REPLAY, *POISONERS)
_HONEST = Conduct()


def play_bulk(
    client: AnalystClient,
    published: Published,
    roster: Roster,
    account: Account,
    *,
    seed: int | None = None,
    conduct: Conduct = _HONEST,
    roles: Sequence[Role] | None = None,
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
    roster : Roster
        The respondents.
    account : Account
        Starts with the number of respondents; also right if an upload fails.
    seed : int or None
        The same seed gives the same records, whatever the report ids; None draws anew.
    conduct : Conduct
        Who behaves how; arrivals have no meaning here.
    roles : sequence of Role or None
        The part of each respondent; by default those of `conduct`.
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
    parts = conduct.roles(len(roster)) if roles is None else roles
    upload = _Upload(client, published, account)
    offline: list[Block] = []
    began = time.monotonic()
    try:
        for block in blocks(published, roster, parts, conduct=conduct, seed=seed, first=first):
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
