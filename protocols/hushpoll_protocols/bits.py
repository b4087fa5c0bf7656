"""Sources of random 64-bit words, the system's or given ones, and subsets drawn by them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from typing import Protocol

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.thresholds import Q


class Bits(Protocol):
    """A source of independent, uniform words in [0, 2^64)."""

    def word(self) -> int:
        """Return the next word."""
        ...

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words, in order."""
        ...


class SecureBits:
    """The operating system's cryptographic generator.

    Nothing is buffered between calls: a buffer would be copied by ``fork``, and two processes would
    then perturb with the same randomness.
    """

    __slots__ = ()

    def word(self) -> int:
        """Return the next word."""
        return int.from_bytes(os.urandom(8), "little")

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words."""
        return struct.unpack(f"<{count}Q", os.urandom(8 * count))


class ReplayBits:
    """Words that are given, for vectors and tests. Not private: the words reveal the answer.

    Parameters
    ----------
    words : iterable of int
        Words in [0, 2^64), handed out in order.

    Raises
    ------
    InvalidParameter
        A word is out of range, or more words are asked for than were given.
    """

    __slots__ = ("_next", "_words")

    def __init__(self, words: Iterable[int]) -> None:
        self._words = tuple(words)
        self._next = 0
        for index, word in enumerate(self._words):
            if not 0 <= word < Q:
                raise InvalidParameter(
                    f"words[{index}] is {word}, outside [0, 2^64); give unsigned 64-bit words",
                    field="words",
                )

    @property
    def consumed(self) -> int:
        """How many words have been handed out."""
        return self._next

    def word(self) -> int:
        """Return the next word."""
        return self.words(1)[0]

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words.

        Raises
        ------
        InvalidParameter
            If fewer are left.
        """
        end = self._next + count
        if end > len(self._words):
            raise InvalidParameter(
                f"{end} words are needed, but {len(self._words)} were given; give more words",
                field="words",
            )
        taken = self._words[self._next : end]
        self._next = end
        return taken


def uniform_subset(count: int, size: int, bits: Bits) -> set[int]:
    """Draw a subset of [0, count), each of `size` members with the same chance; size <= count.

    Floyd's algorithm (Bentley and Floyd, CACM 1987), each index by rejection below
    floor(2^64/m)*m, so that no index is favoured even by 2^-64. It takes `size` words, and one more
    for each that is rejected.
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
