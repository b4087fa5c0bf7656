"""Pairs: subset selection of a fixed size, two; the protocol that `test_adding.py` adds.

The record is a uniform subset of two values (of one, if k = 2) that contains the truth with
probability p = P/2^64. The ratio of two answers' probabilities is that of subset selection, at
most e^epsilon because P is rounded down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any, ClassVar, Self

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.oracle import FrequencyOracle, decimal_fraction
from hushpoll_protocols.record_forms import BitForm, pack, unpack
from hushpoll_protocols.thresholds import Q, floor_in_exp


@dataclass(frozen=True)
class Pairs(FrequencyOracle):
    """A subset of two values that the truth is likely to be in."""

    name: ClassVar[str] = "PAIRS"

    P: int

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        size = min(2, k - 1)
        keep = floor_in_exp(lambda e: Q * size * e / (size * e + k - size), epsilon)
        return cls(k=k, epsilon=epsilon, P=keep, **parameters)

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.P, Q)

    @cached_property
    def q(self) -> Fraction:
        size = self.support_size
        return (self.p * (size - 1) + (1 - self.p) * size) / (self.k - 1)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        size = self.support_size
        return self.p * (self.k - size) / ((1 - self.p) * size)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"P": self.P}

    @cached_property
    def form(self) -> BitForm:
        return BitForm(self.k, self.support_size)

    @property
    def support_size(self) -> int:
        return min(2, self.k - 1)

    @property
    def _best_guess(self) -> Decimal:
        return decimal_fraction(self.p / self.support_size)

    def randomize(self, value: int, bits: Bits) -> bytes:
        self._check_value(value)
        keep = bits.word() < self.P
        others = [other for other in range(self.k) if other != value]
        members = [value] if keep else []
        while len(members) < self.support_size:
            limit = Q - Q % len(others)
            word = bits.word()
            while word >= limit:
                word = bits.word()
            members.append(others.pop(word % len(others)))
        return pack(members, self.k)

    def singling_out(self, value: int, rng: Random) -> bytes:
        return self.form.with_few_besides(value, rng)

    def support(self, record: bytes) -> tuple[int, ...]:
        self.check(record)
        return unpack(record)

    def probability(self, record: bytes, value: int) -> Fraction:
        self._check_value(value)
        size = self.support_size
        if value in self.support(record):
            return self.p / math.comb(self.k - 1, size - 1)
        return (1 - self.p) / math.comb(self.k - 1, size)
