"""Deterministic 64-bit words: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""

from __future__ import annotations

from collections.abc import Iterator

MASK = 2**64 - 1


def stream(seed: int) -> Iterator[int]:
    """Yield the words of a seed for ever."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield z ^ z >> 31


def take(seed: int, count: int) -> list[int]:
    """Return the first `count` words of a seed."""
    words = stream(seed)
    return [next(words) for _ in range(count)]
