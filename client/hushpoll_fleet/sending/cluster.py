"""A fleet spread over a Dask cluster: each task plays a part of it from another process or machine.

A respondent's noise, behaviour and arrival depend on the seed and on its number alone, so a fleet
that is spread sends the same records as one that is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from hushpoll_client import InvalidParameter, Published
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.behaviour.plan import Assignment
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_fleet.sending.account import Account, unwatched
from hushpoll_fleet.sending.bulk import block_size, play_bulk
from hushpoll_fleet.sending.wire import WireOptions, play
from hushpoll_protocols.errors import MissingExtra

_CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Part:
    """What one task plays.

    Attributes
    ----------
    url, token : str
        Of the server; the token is used in bulk only.
    published : bytes
        The survey's canonical form: its oracles are made anew where it is played.
    respondents : SimulatedRespondents
        The respondents.
    assignments : sequence of Assignment
        The part of each.
    options : WireOptions
        How to send; its `first` is the number of the first respondent.
    tokens : sequence of str or None
        Respondents' tokens, for a token survey.
    bulk : bool
        Whether batches are uploaded.
    """

    url: str
    token: str | None
    published: bytes
    respondents: SimulatedRespondents
    assignments: Sequence[Assignment]
    options: WireOptions
    tokens: Sequence[str] | None
    bulk: bool

    def play(self) -> Account:
        """Play it here."""
        published = Published.from_json(self.published)
        account = Account(len(self.respondents))
        if self.bulk:
            with AnalystClient(self.url, self.token) as client:
                return play_bulk(
                    client,
                    published,
                    self.respondents,
                    account,
                    seed=self.options.noise_seed,
                    plan=self.options.plan,
                    assignments=self.assignments,
                    first=self.options.first,
                )
        return play(
            self.url,
            published,
            self.respondents.answers(),
            account,
            options=self.options,
            assignments=self.assignments,
            tokens=iter(self.tokens) if self.tokens is not None else None,
        )


def play_on_cluster(
    address: str,
    whole: Part,
    account: Account,
    *,
    progress: Callable[[int], None] = unwatched,
) -> Account:
    """Spread a fleet over the workers of a Dask cluster, and keep one account.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://127.0.0.1:8786``.
    whole : Part
        The whole fleet.
    account : Account
        Starts with the number of respondents; a part that fails as a whole stays unsent in it.
    progress : callable
        Called with the number of respondents just done.

    Raises
    ------
    MissingExtra
        Without the extra ``scale``.
    InvalidParameter
        If no scheduler answers, or it has no workers.
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
            # Playing twice would send other reports: a part is never tried again by itself.
            client.submit(part.play, pure=False, retries=0)
            for part in parts(whole, 4 * workers)
        ]
        failure: Exception | None = None
        for task in as_completed(  # type: ignore[no-untyped-call]  # as above
            tasks, loop=client.loop
        ):
            try:
                done = task.result()
            except Exception as error:
                failure = error
                continue
            account.add(done)
            progress(done.respondents)
    account.seconds = time.monotonic() - began
    if failure is not None:
        raise failure
    return account


def parts(whole: Part, count: int) -> Iterator[Part]:
    """Cut a fleet into about `count` parts, each beginning with a block of its own."""
    size = block_size(Published.from_json(whole.published)) if whole.bulk else 1
    total = len(whole.respondents)
    step = max(1, -(-total // (count * size))) * size
    tokens = iter(whole.tokens) if whole.tokens is not None else None
    for start in range(0, total, step):
        columns: dict[str, Any] = {
            name: column[start : start + step] for name, column in whole.respondents.columns.items()
        }
        respondents = SimulatedRespondents(whole.respondents.attributes, columns)
        yield replace(
            whole,
            respondents=respondents,
            assignments=whole.assignments[start : start + step],
            options=replace(whole.options, first=whole.options.first + start),
            tokens=list(islice(tokens, len(respondents))) if tokens is not None else None,
        )
