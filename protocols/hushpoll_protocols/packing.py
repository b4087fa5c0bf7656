"""Bit records: one bit per value, least significant first, pad bits zero."""

from __future__ import annotations

from collections.abc import Iterable

from hushpoll_protocols.errors import MalformedRecord


def packed_size(k: int) -> int:
    """Return the bytes that k bits take."""
    return (k + 7) // 8


def pack(members: Iterable[int], k: int) -> bytes:
    """Pack a set of values into a bit record.

    Parameters
    ----------
    members : iterable of int
        Distinct values in [0, k).
    k : int
        Domain size.

    Returns
    -------
    bytes
        ceil(k/8) bytes.
    """
    packed = bytearray(packed_size(k))
    for value in members:
        packed[value >> 3] |= 1 << (value & 7)
    return bytes(packed)


def unpack(record: bytes) -> tuple[int, ...]:
    """Return the positions of the set bits, ascending."""
    digits = bin(int.from_bytes(record, "little"))[:1:-1]
    return tuple(value for value, digit in enumerate(digits) if digit == "1")


def check_padding(record: bytes, k: int) -> None:
    """Refuse a record in which a bit past the k-th is set.

    Raises
    ------
    MalformedRecord
        With the reason ``padding``.
    """
    if k & 7 and record[-1] >> (k & 7):
        raise MalformedRecord(
            f"a pad bit past bit {k - 1} is set; the last {8 - (k & 7)} bits of the record must be "
            "zero: send it exactly as the device made it",
            reason="padding",
        )
