"""The hash of BLH and OLH."""

from __future__ import annotations

from pathlib import Path

from hushpoll_protocols.oracles.local_hashing import bucket, finalise
from vector_builders.document import Group, hex64, write
from vector_builders.words import MASK, take


def build(folder: Path) -> None:
    """Write hashes.json."""
    finaliser = Group(
        "finaliser",
        "m, the 32-bit finaliser of MurmurHash3.",
        {"input": "8 hexadecimal digits", "output": "8 hexadecimal digits"},
    )
    inputs = [*range(12), 255, 256, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    for value in inputs + [word >> 32 for word in take(1, 20)]:
        finaliser.add(input=f"{value:08x}", output=f"{finalise(value):08x}")
    buckets = Group(
        "buckets",
        "h(v) = (((a*m(v) + b) mod 2^64) >> 32) * g >> 32.",
        {
            "a": "multiplier, 16 hexadecimal digits",
            "b": "offset, 16 hexadecimal digits",
            "code": "v, the answer's code",
            "g": "number of buckets",
            "bucket": "h(v), 0..g-1",
        },
    )
    words = iter(take(2, 200))
    seeds = [(0, 0), (0, MASK), (MASK, 0), (MASK, MASK), (1, 0)]
    for g in (2, 3, 4, 55, 65535, 65536):
        for a, b in seeds + [(next(words), next(words)) for _ in range(7)]:
            for code in (0, 1, next(words) % 65536, 65535)[: 4 if g in (2, 65536) else 2]:
                buckets.add(a=hex64(a), b=hex64(b), code=code, g=g, bucket=bucket(a, b, code, g))
    write(folder / "hashes.json", "The hash of BLH and OLH.", [finaliser, buckets])
