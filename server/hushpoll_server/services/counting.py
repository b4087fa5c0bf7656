"""Between the bytes that the store keeps and the counts that estimates are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from hushpoll_analysis.pair_counts import PairCounts, count_pairs
from hushpoll_protocols.registry import PROTOCOLS
from hushpoll_server.store.counts import Folded, Rows, Tally
from hushpoll_shared.published import Published


def counted(published_of: Callable[[int], Published]) -> Tally:
    """Return the function by which the store counts records.

    Parameters
    ----------
    published_of : callable
        Gives the resolved manifest of a version's id.
    """

    def tally(version_id: int, blocks: Iterable[Rows]) -> Folded:
        found = count_pairs(published_of(version_id), blocks)
        return Folded(found.counts.n, *found.pack())

    return tally


def prepare() -> None:
    """Load what counting and batches need, so that the first of them does not wait for numba."""
    import_module("hushpoll_analysis.pair_kernels")
    for registration in PROTOCOLS.values():
        import_module(registration.kernel)


def unfolded(published: Published, folded: Folded) -> PairCounts:
    """Return the counts that the store keeps.

    Raises
    ------
    InvalidParameter
        A release that kept other pairs has written them.
    """
    return PairCounts.unpack(published, folded.reports, folded.support, folded.joint)
