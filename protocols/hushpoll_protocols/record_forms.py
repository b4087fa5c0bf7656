"""The two forms that records have, codes and bits: their sizes, and which bytes are well formed.

A protocol says which form its records have; the checks of one record and of an array of records
follow from that, and so do records that are drawn evenly from all well-formed ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushpoll_protocols.errors import MalformedRecord

if TYPE_CHECKING:
    from random import Random

_AS_MADE = "send it exactly as the device made it"


@dataclass(frozen=True, slots=True)
class CodeForm:
    """A little-endian code of 1 or 2 bytes, after a public seed of `seed_size` bytes.

    The seed is drawn uniformly and independently of the answer.
    """

    below: int
    """Codes lie in [0, below), at most 65536."""

    code_size: int
    seed_size: int = 0
    code_name: str = "code"
    """What the code is, for messages."""

    @property
    def size(self) -> int:
        """Length of every record in bytes."""
        return self.seed_size + self.code_size

    def check(self, record: bytes, protocol: str) -> None:
        """Refuse a code outside [0, below) in a record of the right length, as ``range``."""
        code = self.code(record)
        if code >= self.below:
            raise MalformedRecord(
                f"the {protocol} record names {self.code_name} {code}, outside "
                f"[0, {self.below - 1}]; {_AS_MADE}",
                reason="range",
            )

    def code(self, record: bytes) -> int:
        """Return the code that a record of the right length names."""
        return int.from_bytes(record[self.seed_size :], "little")

    def arbitrary(self, rng: Random) -> bytes:
        """Draw a record evenly from all that are well formed."""
        code = rng.randrange(self.below).to_bytes(self.code_size, "little")
        words = [rng.randrange(1 << 64).to_bytes(8, "little") for _ in range(self.seed_size // 8)]
        return b"".join((*words, code))


@dataclass(frozen=True, slots=True)
class BitForm:
    """One bit per value, least significant first, filled up with zero bits to whole bytes."""

    k: int
    omega: int | None = None
    """How many bits every record sets; None where any number may be set."""

    @property
    def size(self) -> int:
        """Length of every record in bytes."""
        return packed_size(self.k)

    @property
    def seed_size(self) -> int:
        """No part of the record is public randomness."""
        return 0

    def check(self, record: bytes, protocol: str) -> None:
        """Refuse a pad bit that is set (``padding``), or another number of bits (``popcount``)."""
        used = self.k & 7
        if used and record[-1] >> used:
            raise MalformedRecord(
                f"a pad bit past bit {self.k - 1} is set; the last {8 - used} bits of the record "
                f"must be zero: {_AS_MADE}",
                reason="padding",
            )
        if self.omega is None:
            return
        count = int.from_bytes(record, "little").bit_count()
        if count != self.omega:
            raise MalformedRecord(
                f"the {protocol} record holds {count} values, not omega = {self.omega}; {_AS_MADE}",
                reason="popcount",
            )

    def arbitrary(self, rng: Random) -> bytes:
        """Draw a record evenly from all that are well formed."""
        if self.omega is None:
            return pack((value for value in range(self.k) if rng.random() < 0.5), self.k)
        return pack(rng.sample(range(self.k), self.omega), self.k)

    def with_few_besides(self, value: int, rng: Random) -> bytes:
        """Draw a record that sets the bit of `value`, and no more others than it must."""
        if self.omega is None:
            return pack((value,), self.k)
        others = [other for other in range(self.k) if other != value]
        return pack((value, *rng.sample(others, self.omega - 1)), self.k)


RecordForm = CodeForm | BitForm


def packed_size(k: int) -> int:
    """Return the bytes that k bits take."""
    return (k + 7) // 8


def pack(members: Iterable[int], k: int) -> bytes:
    """Pack distinct values in [0, k) into the ceil(k/8) bytes of a bit record."""
    packed = bytearray(packed_size(k))
    for value in members:
        packed[value >> 3] |= 1 << (value & 7)
    return bytes(packed)


def unpack(record: bytes) -> tuple[int, ...]:
    """Return the positions of the set bits, ascending."""
    digits = bin(int.from_bytes(record, "little"))[:1:-1]
    return tuple(value for value, digit in enumerate(digits) if digit == "1")
