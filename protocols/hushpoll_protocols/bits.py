"""Sources of random 64-bit words: the operating system's for devices, given words for tests."""

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
