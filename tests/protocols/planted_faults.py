"""Oracles with one fault each, of the kind that other systems shipped. No check may let one pass.

A fault wraps a healthy oracle and overrides what it gets wrong; all else is the oracle's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from exact_law import Q

from hushpoll_protocols import Bits, FrequencyOracle, MalformedRecord, create
from hushpoll_protocols.oracle import IndicatorCovariances
from hushpoll_protocols.oracles.local_hashing import bucket
from hushpoll_protocols.record_forms import pack


class Faulty:
    """A healthy oracle, except for the attributes and methods given."""

    def __init__(self, oracle: FrequencyOracle, **overrides: Any) -> None:
        self._oracle = oracle
        self.__dict__.update(overrides)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)


@dataclass(frozen=True)
class Fault:
    """What is planted, in which protocol, and which checks have to see it.

    Attributes
    ----------
    protocol : str
        Where it is planted.
    plant : callable
        Healthy oracle -> faulty oracle.
    checks : tuple of str
        Names of the checks of the conformance module that must raise, each on its own.
    k, epsilon, parameters :
        Arguments of the healthy oracle.
    """

    protocol: str
    plant: Callable[[Any], Any]
    checks: tuple[str, ...]
    k: int = 5
    epsilon: str = "1"
    parameters: Mapping[str, object] | None = None

    def healthy(self) -> FrequencyOracle:
        return create(self.protocol, k=self.k, epsilon=self.epsilon, **(self.parameters or {}))

    def faulty(self) -> Any:
        return self.plant(self.healthy())


def _with_bit(record: bytes, position: int, bit: bool) -> bytes:
    number = int.from_bytes(record, "little") & ~(1 << position) | bit << position
    return number.to_bytes(len(record), "little")


def _device(
    randomize: Callable[[Any, int, Bits], bytes],
) -> Callable[[FrequencyOracle], Faulty]:
    return lambda oracle: Faulty(oracle, randomize=partial(randomize, oracle))


def _true_bit_never_cleared(oracle: Any, value: int, bits: Bits) -> bytes:
    return _with_bit(oracle.randomize(value, bits), value, True)


def _last_bit_not_randomized(oracle: Any, value: int, bits: Bits) -> bytes:
    return _with_bit(oracle.randomize(value, bits), oracle.k - 1, value == oracle.k - 1)


def _first_bit_not_randomized(oracle: Any, value: int, bits: Bits) -> bytes:
    return _with_bit(oracle.randomize(value, bits), 0, value == 0)


def _one_word_for_all_bits(oracle: Any, value: int, bits: Bits) -> bytes:
    word = bits.word()
    chosen = [v for v in range(oracle.k) if word < (oracle.P if v == value else oracle.R)]
    return pack(chosen, oracle.k)


def _keep_and_lie_swapped_unary(oracle: Any) -> Any:
    return Faulty(oracle, randomize=replace(oracle, P=oracle.R, R=oracle.P).randomize)


def _keep_and_lie_swapped_grr(oracle: Any, value: int, bits: Bits) -> bytes:
    word, others = bits.word(), oracle.k - 1
    if word < others * oracle.R:
        return bytes([value])
    other = word % others
    return bytes([other if other < value else other + 1])


def _keep_and_lie_swapped_ss(oracle: Any) -> Any:
    return Faulty(oracle, randomize=replace(oracle, P=Q - oracle.P).randomize)


def _keep_and_lie_swapped_hashing(oracle: Any, value: int, bits: Bits) -> bytes:
    a, b, word = bits.words(3)
    y, others = bucket(a, b, value, oracle.g), oracle.g - 1
    if not word < others * oracle.R:
        other = word % others
        y = other if other < y else other + 1
    return (a | b << 64 | y << 128).to_bytes(18, "little")


def _threshold_of_another_k(oracle: Any) -> Any:
    other = create(oracle.name, k=2 * oracle.k, epsilon=oracle.epsilon, **oracle.parameters)
    return Faulty(oracle, randomize=replace(other, k=oracle.k).randomize)


def _p_of_another_k(oracle: Any) -> Any:
    other = create(oracle.name, k=2 * oracle.k, epsilon=oracle.epsilon, **oracle.parameters)
    return Faulty(oracle, p=other.p, q=other.q)


def _value_in_the_length(oracle: Any, value: int, bits: Bits) -> bytes:
    return oracle.randomize(value, bits) + bytes(value == oracle.k - 1)


def _value_in_a_pad_bit(oracle: Any, value: int, bits: Bits) -> bytes:
    return _with_bit(oracle.randomize(value, bits), 8 * oracle.record_size - 1, value == 0)


def _pad_bits_accepted(oracle: Any) -> Any:
    def lenient(method: str, record: bytes, *rest: object) -> Any:
        if len(record) != oracle.record_size:
            raise MalformedRecord("wrong length", reason="length")
        cut = int.from_bytes(record, "little") % (1 << oracle.k)
        return getattr(oracle, method)(cut.to_bytes(len(record), "little"), *rest)

    return Faulty(oracle, **{m: partial(lenient, m) for m in ("check", "support", "probability")})


def _ten_percent_overspent(oracle: Any) -> Any:
    excess = spend = oracle.epsilon * Decimal("1.1")
    spent = create(oracle.name, k=oracle.k, epsilon=spend)
    # Thresholding spends less than it is given, so it has to be given more to overspend.
    while spent.realized_epsilon < excess * Decimal("0.999999"):
        spend += Decimal("0.01")
        spent = create(oracle.name, k=oracle.k, epsilon=spend)
    return replace(spent, epsilon=oracle.epsilon)


def _ten_percent_overspent_in_secret(oracle: Any) -> Any:
    return Faulty(oracle, randomize=_ten_percent_overspent(oracle).randomize)


def _epsilon_understated(oracle: Any) -> Any:
    return Faulty(oracle, realized_epsilon=oracle.realized_epsilon - Decimal("1e-12"))


def _one_word_too_many_lies(oracle: Any, value: int, bits: Bits) -> bytes:
    # `<=` for `<`: 2^-64 too much.
    word, others = bits.word(), oracle.k - 1
    if word <= others * oracle.R:
        other = min(word // oracle.R, others - 1)
        return bytes([other if other < value else other + 1])
    return bytes([value])


def _one_word_too_many_bits(oracle: Any, value: int, bits: Bits) -> bytes:
    words = bits.words(oracle.k)
    limits = [oracle.P if v == value else oracle.R for v in range(oracle.k)]
    return pack([v for v in range(oracle.k) if words[v] <= limits[v]], oracle.k)


def _last_value_never_a_lie(oracle: Any, value: int, bits: Bits) -> bytes:
    record = oracle.randomize(value, bits)
    last = oracle.k - 1
    return bytes([value]) if record[0] == last != value else record


def _constant_seed(oracle: Any, value: int, bits: Bits) -> bytes:
    a, b, _ = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, bits.words(2)
    y = bucket(a, b, value, oracle.g)
    word, others = bits.word(), oracle.g - 1
    if word < others * oracle.R:
        other = word // oracle.R
        y = other if other < y else other + 1
    return (a | b << 64 | y << 128).to_bytes(18, "little")


def _seed_tells_the_value(oracle: Any, value: int, bits: Bits) -> bytes:
    record = oracle.randomize(value, bits)
    return bytes([record[0] & 0xFE | value & 1]) + record[1:]


def _truncated_seed(oracle: Any, value: int, bits: Bits) -> bytes:
    # 32 bits of a 64-bit seed, as multi-freq-ldpy's hash has it.
    a, b, word = bits.words(3)
    a, b = a & 0xFFFFFFFF, b & 0xFFFFFFFF
    y = bucket(a, b, value, oracle.g)
    others = oracle.g - 1
    if word < others * oracle.R:
        other = word // oracle.R
        y = other if other < y else other + 1
    return (a | b << 64 | y << 128).to_bytes(18, "little")


def _subset(
    floyd: Callable[[Any, int, Bits], set[int]], skip: bool = True
) -> Callable[[Any], Faulty]:
    def randomize(oracle: Any, value: int, bits: Bits) -> bytes:
        keep = bits.word() < oracle.P
        chosen = floyd(oracle, oracle.omega - 1 if keep else oracle.omega, bits)
        members = [other if other < value or not skip else other + 1 for other in chosen]
        return pack([*members, value] if keep else members, oracle.k)

    return _device(randomize)


def _without_rejection(oracle: Any, size: int, bits: Bits) -> set[int]:
    chosen: set[int] = set()
    for last in range(oracle.k - 1 - size, oracle.k - 1):
        index = bits.word() % (last + 1)
        chosen.add(last if index in chosen else index)
    return chosen


def _next_free(oracle: Any, size: int, bits: Bits) -> set[int]:
    others = oracle.k - 1
    chosen: set[int] = set()
    for _ in range(size):
        index = bits.word() % others
        while index in chosen:
            index = (index + 1) % others
        chosen.add(index)
    return chosen


def _short_range(oracle: Any, size: int, bits: Bits) -> set[int]:
    # Floyd's index drawn below `last` instead of up to it.
    chosen: set[int] = set()
    for last in range(oracle.k - 1 - size, oracle.k - 1):
        index = bits.word() % max(last, 1)
        chosen.add(last if index in chosen else index)
    return chosen


def _support_shifted(oracle: Any) -> Any:
    def support(record: bytes) -> tuple[int, ...]:
        return tuple(sorted((v + 1) % oracle.k for v in oracle.support(record)))

    return Faulty(oracle, support=support)


def _one_bit_forgotten_in_the_law(oracle: Any) -> Any:
    def probability(record: bytes, value: int) -> Fraction:
        last = bool(record[-1] >> (oracle.k - 1) % 8 & 1)
        chance = oracle.p if value == oracle.k - 1 else oracle.q
        return oracle.probability(record, value) / (chance if last else 1 - chance)

    return Faulty(oracle, probability=probability)


def _size_misstated(oracle: Any) -> Any:
    return Faulty(oracle, support_size=1 if oracle.support_size is None else None)


def _singles_out_the_next(oracle: Any) -> Any:
    # Over another hash the value that comes next may share the bucket: asked until it does not.
    def singling_out(value: int, rng: Any) -> bytes:
        while True:
            record = oracle.singling_out((value + 1) % oracle.k, rng)
            if value not in oracle.support(record):
                return record

    return Faulty(oracle, singling_out=singling_out)


def _supports_everything(oracle: Any) -> Any:
    return Faulty(oracle, singling_out=lambda *_: pack(range(oracle.k), oracle.k))


def _two_bits_alike(oracle: Any) -> Any:
    # A record whose first two bits differ is never drawn: p and q hold, independence does not.
    def probability(record: bytes, value: int) -> Fraction:
        first, second = record[0] & 1, record[0] >> 1 & 1
        chance = oracle.p if value in (0, 1) else oracle.q
        own = (chance if first else 1 - chance) * (first == second)
        for bit in range(2, oracle.k):
            chance = oracle.p if bit == value else oracle.q
            own *= chance if record[0] >> bit & 1 else 1 - chance
        return own

    return Faulty(oracle, probability=probability)


def _covariances_of_independent_bits(oracle: Any) -> Any:
    return Faulty(oracle, covariances=IndicatorCovariances(Fraction(0), Fraction(0)))


EXACT_ALONE = ("check_randomize",)
"""Too small for any sample to show."""
SAMPLED = ("check_randomize", "check_draws")

FAULTS: dict[str, Fault] = {
    "RAPPOR: true bit never cleared": Fault("RAPPOR", _device(_true_bit_never_cleared), SAMPLED),
    "OUE: true bit never cleared": Fault("OUE", _device(_true_bit_never_cleared), SAMPLED),
    "OUE: last bit not randomized": Fault("OUE", _device(_last_bit_not_randomized), SAMPLED),
    "THE: last bit not randomized": Fault("THE", _device(_last_bit_not_randomized), SAMPLED),
    "RAPPOR: first bit not randomized": Fault(
        "RAPPOR", _device(_first_bit_not_randomized), SAMPLED
    ),
    "OUE: one word for all bits": Fault("OUE", _device(_one_word_for_all_bits), SAMPLED),
    "GRR: keep and lie swapped": Fault("GRR", _device(_keep_and_lie_swapped_grr), SAMPLED),
    "BLH: keep and lie swapped": Fault("BLH", _device(_keep_and_lie_swapped_hashing), SAMPLED),
    "OLH: keep and lie swapped": Fault("OLH", _device(_keep_and_lie_swapped_hashing), SAMPLED),
    "RAPPOR: keep and lie swapped": Fault("RAPPOR", _keep_and_lie_swapped_unary, SAMPLED),
    "SS: keep and lie swapped": Fault("SS", _keep_and_lie_swapped_ss, SAMPLED),
    "GRR: device has the threshold of another k": Fault("GRR", _threshold_of_another_k, SAMPLED),
    "SS: device has the threshold of another k": Fault(
        "SS", _threshold_of_another_k, SAMPLED, parameters={"omega": 2}
    ),
    "GRR: p of another k": Fault("GRR", _p_of_another_k, ("check_law", "check_draws")),
    "SS: p of another k": Fault(
        "SS", _p_of_another_k, ("check_law", "check_draws"), parameters={"omega": 2}
    ),
    "GRR: `<=` for `<`": Fault("GRR", _device(_one_word_too_many_lies), EXACT_ALONE),
    "RAPPOR: `<=` for `<`": Fault("RAPPOR", _device(_one_word_too_many_bits), EXACT_ALONE),
    "GRR: last value never a lie": Fault("GRR", _device(_last_value_never_a_lie), SAMPLED),
    "OLH: constant hash seed": Fault(
        "OLH",
        _device(_constant_seed),
        ("check_other_support", "check_draws"),
    ),
    "BLH: hash seed tells the value": Fault("BLH", _device(_seed_tells_the_value), EXACT_ALONE),
    "OLH: hash seed truncated": Fault(
        "OLH", _device(_truncated_seed), ("check_other_support", "check_draws")
    ),
    "SS: modulo bias": Fault("SS", _subset(_without_rejection), EXACT_ALONE, 7, "0.3"),
    "SS: next free index when taken": Fault("SS", _subset(_next_free), SAMPLED, 7, "0.3"),
    "SS: index below the last": Fault("SS", _subset(_short_range), SAMPLED),
    "SS: lies do not skip the truth": Fault("SS", _subset(_without_rejection, skip=False), SAMPLED),
    "OUE: support shifted by one": Fault("OUE", _support_shifted, ("check_law", "check_draws")),
    "RAPPOR: one bit forgotten in the law": Fault(
        "RAPPOR", _one_bit_forgotten_in_the_law, ("check_law",)
    ),
    "OUE: value in a pad bit": Fault("OUE", _device(_value_in_a_pad_bit), SAMPLED),
    "SS: value in a pad bit": Fault("SS", _device(_value_in_a_pad_bit), SAMPLED),
    "SS: covariances of independent bits": Fault(
        "SS", _covariances_of_independent_bits, ("check_supports",), parameters={"omega": 2}
    ),
    "GRR: covariances of independent bits": Fault(
        "GRR", _covariances_of_independent_bits, ("check_supports",)
    ),
    "OUE: a fake supports all values": Fault("OUE", _supports_everything, ("check_fakes",)),
    "OUE: one word for two bits, as the law states": Fault(
        "OUE", _two_bits_alike, ("check_supports",)
    ),
    "THE: pad bits accepted": Fault("THE", _pad_bits_accepted, ("check_law",)),
}
"""Faults of one protocol."""

EVERYWHERE: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "value in the length": (_device(_value_in_the_length), SAMPLED),
    "10 % overspent": (_ten_percent_overspent, ("check_epsilon",)),
    "10 % overspent by the device": (_ten_percent_overspent_in_secret, SAMPLED),
    "realized epsilon understated": (_epsilon_understated, ("check_epsilon",)),
    "size of the support misstated": (_size_misstated, ("check_supports",)),
    "a fake pushes another value": (_singles_out_the_next, ("check_fakes",)),
}
"""Faults that any protocol can have."""
