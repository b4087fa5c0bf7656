"""A fleet spread over a Dask cluster: each task plays a part of it from another process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hushpoll_client import InvalidParameter
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.sending.account import Account, no_progress
from hushpoll_fleet.sending.bulk import block_size, play_bulk
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_fleet.sending.wire import play
from hushpoll_protocols.errors import MissingExtra

_CONNECT_SECONDS = 10


def play_here(
    url: str, token: str | None, fleet: Fleet, concurrency: int, *, bulk: bool
) -> Account:
    """Play a fleet from this process; the token is used in bulk only."""
    account = Account(len(fleet))
    if not bulk:
        return play(url, fleet, account, concurrency=concurrency)
    with AnalystClient(url, token) as client:
        return play_bulk(client, fleet, account)


def play_on_cluster(
    address: str,
    server: tuple[str, str | None],
    fleet: Fleet,
    account: Account,
    *,
    concurrency: int,
    bulk: bool,
    progress: Callable[[int], None] = no_progress,
) -> Account:
    """Spread a fleet over the workers of the Dask cluster at an address, and keep one account.

    `server` is the collecting server's address, and the token, which is used in bulk only. Each
    task plays `concurrency` respondents at a time, in [1, 256]; a part that fails as a whole stays
    unsent. Refuses a scheduler that does not answer, or has no workers; needs the extra ``scale``.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise MissingExtra("scale", "playing a fleet on a cluster") from None
    began = time.monotonic()
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]  # distributed's own gap
            address, timeout=_CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidParameter(
            f"--dask is {address!r}, where no scheduler answers ({type(error).__name__}); give the "
            "address that dask scheduler prints",
            field="dask",
        ) from None
    with client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise InvalidParameter(
                f"the scheduler at {address} has no workers; start dask worker {address}",
                field="dask",
            )
        tasks = [
            # A part that is played twice sends other reports, so it is never tried again.
            client.submit(play_here, *server, part, concurrency, bulk=bulk, pure=False, retries=0)
            for part in fleet.parts(4 * workers, block=block_size(fleet.published) if bulk else 1)
        ]
        failure: Exception | None = None
        for task in as_completed(  # type: ignore[no-untyped-call]  # as above
            tasks, loop=client.loop
        ):
            try:
                part = task.result()
            except Exception as error:
                failure = error
                continue
            account.add(part)
            progress(part.respondents)
    account.seconds = time.monotonic() - began
    if failure is not None:
        raise failure
    return account
