"""Uniform subsets of fixed size: of the values of a domain, and of the blocks of a draw."""

from __future__ import annotations

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.thresholds import Q


def uniform_subset(count: int, size: int, bits: Bits) -> set[int]:
    """Draw a subset of [0, count), each of `size` members with the same chance.

    Floyd's algorithm (Bentley and Floyd, CACM 1987), each index by rejection below
    floor(2^64/m)*m, so that no index is favoured even by 2^-64.

    Parameters
    ----------
    count : int
        Members to choose from.
    size : int
        How many are chosen, in [0, count].
    bits : Bits
        Source of randomness: `size` words, and one more for each that is rejected.
    """
    chosen: set[int] = set()
    words = iter(bits.words(size))
    for last in range(count - size, count):
        m = last + 1
        limit = Q - Q % m
        word = next(words, None)
        while word is None or word >= limit:
            # A refused word shifts the rest by one, so the last indices draw past the first
            # batch.
            word = next(words, None)
            if word is None:
                word = bits.word()
        index = word % m
        chosen.add(last if index in chosen else index)
    return chosen
