"""A connection to a Dask cluster (extra ``scale``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hushpoll_protocols.errors import InvalidParameter, MissingExtra, TransportError
from hushpoll_training.learners.learner import Learner

CONNECT_SECONDS = 10.0


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a cluster that has at least one worker; disconnect afterwards.

    Yields the ``distributed.Client``, which does not become the default one. The address is the
    scheduler's, such as ``tcp://192.0.2.1:8786``. Anybody who can reach a scheduler can run code on
    its workers: keep it in a network of its own, or use Dask's TLS.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtra("scale", "computing on a Dask cluster") from error
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]  # distributed's own gap
            address, timeout=CONNECT_SECONDS, set_as_default=False
        )
    except (ValueError, TypeError) as error:
        raise InvalidParameter(
            f"the address of the Dask scheduler is {address!r}: {error}; give one such as "
            "tcp://192.0.2.1:8786",
            field="dask",
        ) from error
    except OSError as error:
        raise TransportError(
            f"no Dask scheduler answers at {address} within {CONNECT_SECONDS:g} s; start one, or "
            "correct the address",
            retryable=True,
        ) from error
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise InvalidParameter(
                f"the Dask cluster at {address} has no worker; start one: dask worker {address}",
                field="dask",
            )
        yield client


def require_versions(client: Any, learner: Learner) -> None:
    """Refuse a cluster whose workers run other versions of what a learner's results depend on."""
    ours = {name: number for name, number in learner.versions().items() if name != "python"}
    for worker, theirs in _reported(client, learner).items():
        for name, number in ours.items():
            if theirs.get(name) != number:
                raise InvalidParameter(
                    f"the worker {worker} has {name} {theirs.get(name)} and this machine {number}, "
                    "and results depend on it; install the same versions everywhere",
                    field="dask",
                )


def _reported(client: Any, learner: Learner) -> dict[str, dict[str, str]]:
    """Return the versions that each worker runs, by its address."""
    versions: dict[str, dict[str, str]] = client.run(learner.versions)
    return versions
