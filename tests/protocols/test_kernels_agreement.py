"""Kernels against the scalar side: same words in, same bytes out; same records, same supports."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from hushpoll_protocols import (
    PROTOCOLS,
    FrequencyOracle,
    MalformedRecord,
    ReplayBits,
    create,
)
from hushpoll_protocols.kernels import (
    MALFORMED_REASONS,
    indicators,
    malformed,
    perturb,
    support_counts,
)
from hushpoll_protocols.kernels.words import draw

SIZES = (2, 3, 8, 9, 64, 65, 256, 257, 1000)
EPSILONS = ("0.000001", "0.5", "1", "4", "64")
LARGEST = 2**64 - 1

CASES = [
    pytest.param(name, k, epsilon, id=f"{name}-{k}-{epsilon}")
    for name in PROTOCOLS
    for k in SIZES
    for epsilon in EPSILONS
]


def words_per_record(oracle: FrequencyOracle) -> int:
    kernel = importlib.import_module(PROTOCOLS[oracle.name].kernel)
    return int(kernel.words_per_record(oracle))


def edge_words(oracle: FrequencyOracle, rng: np.random.Generator, n: int) -> np.ndarray:
    """Random words, a third of them next to a threshold, a multiple of R or an end of the range."""
    words = draw(rng, n, words_per_record(oracle))
    edges = {0, 1, LARGEST - 2**20}
    for threshold in oracle.thresholds.values():
        edges |= {max(threshold - 1, 0), threshold, min(threshold + 1, LARGEST)}
        if oracle.name in ("GRR", "BLH", "OLH"):
            others = (oracle.k if oracle.name == "GRR" else int(1 / oracle.q)) - 1
            for multiple in (others - 1, others):
                edges |= {max(multiple * threshold - 1, 0), multiple * threshold}
    if oracle.name == "SS":
        # Words that subset sampling refuses have tests of their own.
        edges = {min(edge, LARGEST - 2**20) for edge in edges}
    table = np.array(sorted(edges), np.uint64)
    return np.where(rng.random(words.shape) < 1 / 3, rng.choice(table, words.shape), words)


class Scripted(np.random.Generator):
    """A generator that hands out given words, then those of its bit generator."""

    def __init__(self, words: np.ndarray, seed: int = 0) -> None:
        super().__init__(np.random.PCG64(seed))
        self.left = words.ravel()

    def integers(self, low, high, *, size, dtype, endpoint):  # type: ignore[no-untyped-def, override]
        wanted = int(np.prod(size))
        taken, self.left = self.left[:wanted], self.left[wanted:]
        rest = super().integers(low, high, size=wanted - len(taken), dtype=dtype, endpoint=endpoint)
        return np.concatenate([taken, rest]).reshape(size)


@pytest.mark.parametrize(("name", "k", "epsilon"), CASES)
def test_perturb_equals_randomize_on_the_same_words(name, k, epsilon):
    oracle = create(name, k=k, epsilon=epsilon)
    rng = np.random.default_rng([k, len(epsilon)])
    values = np.concatenate([[0, k - 1, k // 2], rng.integers(0, k, 37)])
    words = edge_words(oracle, rng, len(values))

    records = perturb(oracle, values, Scripted(words))

    assert records.dtype == np.uint8
    assert records.shape == (len(values), oracle.record_size)
    for value, row, record in zip(values, words, records, strict=True):
        assert oracle.randomize(int(value), ReplayBits(row.tolist())) == record.tobytes()


@pytest.mark.parametrize(("name", "k", "epsilon"), CASES)
def test_indicators_and_counts_equal_scalar_supports(name, k, epsilon):
    oracle = create(name, k=k, epsilon=epsilon)
    rng = np.random.default_rng([k, len(epsilon)])
    records = perturb(oracle, rng.integers(0, k, 60), rng)

    supported = indicators(oracle, records)

    assert supported.dtype == np.uint8
    assert supported.shape == (60, k)
    expected = np.zeros((60, k), np.uint8)
    for row, record in zip(expected, records, strict=True):
        row[list(oracle.support(record.tobytes()))] = 1
    assert np.array_equal(supported, expected)
    counts = support_counts(oracle, records)
    assert counts.dtype == np.int64
    assert np.array_equal(counts, expected.sum(0, dtype=np.int64))


@pytest.mark.parametrize(("name", "k", "epsilon"), CASES)
def test_malformed_gives_the_scalar_reason(name, k, epsilon):
    oracle = create(name, k=k, epsilon=epsilon)
    rng = np.random.default_rng([k, len(epsilon)])
    good = perturb(oracle, rng.integers(0, k, 40), rng)
    noise = rng.integers(0, 256, good.shape, dtype=np.uint8)
    flipped = good.copy()
    flipped[np.arange(40), rng.integers(0, good.shape[1], 40)] ^= np.uint8(1) << rng.integers(
        0, 8, 40, dtype=np.uint8
    )
    ends = np.stack([np.full(good.shape[1], 255, np.uint8), np.zeros(good.shape[1], np.uint8)])
    records = np.concatenate([good, noise, flipped, ends])

    reasons = [MALFORMED_REASONS[code] for code in malformed(oracle, records)]

    assert reasons == [scalar_reason(oracle, record.tobytes()) for record in records]
    assert set(reasons[:40]) == {""}


def scalar_reason(oracle: FrequencyOracle, record: bytes) -> str:
    try:
        oracle.check(record)
    except MalformedRecord as error:
        return error.reason
    return ""


@pytest.mark.parametrize(
    ("name", "k", "parameters", "record", "reason"),
    [
        ("GRR", 3, {}, b"\x03", "range"),
        ("GRR", 256, {}, b"\xff", ""),
        ("GRR", 257, {}, b"\x01\x01", "range"),
        ("GRR", 257, {}, b"\x00\x01", ""),
        ("GRR", 65536, {}, b"\xff\xff", ""),
        ("BLH", 5, {}, bytes(16) + b"\x02\x00", "range"),
        ("BLH", 5, {}, bytes(16) + b"\x00\x01", "range"),
        ("OLH", 5, {"g": 65536}, bytes(16) + b"\xff\xff", ""),
        ("OLH", 5, {"g": 300}, bytes(16) + b"\x2b\x01", ""),
        ("OLH", 5, {"g": 300}, bytes(16) + b"\x2c\x01", "range"),
        ("OUE", 9, {}, b"\x00\x02", "padding"),
        ("RAPPOR", 9, {}, b"\xff\x01", ""),
        ("THE", 7, {}, b"\x80", "padding"),
        ("OUE", 8, {}, b"\xff", ""),
        ("SS", 9, {"omega": 2}, b"\x81\x00", ""),
        ("SS", 9, {"omega": 2}, b"\x01\x00", "popcount"),
        ("SS", 9, {"omega": 2}, b"\x83\x01", "popcount"),
        # Both faults: the scalar side looks at the padding first.
        ("SS", 9, {"omega": 2}, b"\x83\x02", "padding"),
    ],
)
def test_malformed_at_the_boundaries(name, k, parameters, record, reason):
    oracle = create(name, k=k, epsilon="20" if "g" in parameters else "1", **parameters)
    records = np.frombuffer(record, np.uint8)[None, :]
    assert scalar_reason(oracle, record) == reason
    assert MALFORMED_REASONS[malformed(oracle, records)[0]] == reason


@pytest.mark.parametrize("name", PROTOCOLS)
def test_largest_domain(name):
    k = 65536
    oracle = create(name, k=k, epsilon="2")
    values = np.array([0, 1, k - 2, k - 1])
    rng = np.random.default_rng(11)
    words = draw(rng, len(values), words_per_record(oracle))
    records = perturb(oracle, values, Scripted(words))
    supported = indicators(oracle, records)
    for value, row, record, marks in zip(values, words, records, supported, strict=True):
        assert oracle.randomize(int(value), ReplayBits(row.tolist())) == record.tobytes()
        assert tuple(np.flatnonzero(marks)) == oracle.support(record.tobytes())
    assert np.array_equal(support_counts(oracle, records), supported.sum(0, dtype=np.int64))


def test_refused_subset_words_are_redone_by_the_scalar_side():
    # 2^64 mod 9 = 7, so the last 7 words are refused for an index below 9; 2^64 mod 7 = 2.
    oracle = create("SS", k=10, epsilon="1", omega=3)
    keep, lie = 0, LARGEST
    rows = np.array(
        [
            [keep, 5, 6, 4],
            [lie, 5, LARGEST - 1, 4],  # index below 8 = 2^3: nothing is refused
            [lie, LARGEST, 5, 6],  # index below 7: refused
            [lie, LARGEST - 1, 5, 6],  # the first word that is refused
            [lie, LARGEST - 2, 5, 6],  # the last that is not
            [keep, 3, LARGEST, 9],  # refused with a word left in the row: it is used next
            [keep, 3, LARGEST - 7, 9],
            [lie, 5, 6, LARGEST],  # refused with no word left: the generator gives more
        ],
        np.uint64,
    )
    values = np.array([0, 9, 4, 5, 6, 7, 8, 3])

    records = perturb(oracle, values, Scripted(rows, seed=7))

    more = draw(np.random.Generator(np.random.PCG64(7)), 1, 8)[0].tolist()
    used = 0
    for value, row, record in zip(values, rows, records, strict=True):
        own_words = row.tolist()
        bits = ReplayBits(own_words + more[used:])
        assert oracle.randomize(int(value), bits) == record.tobytes()
        used += max(bits.consumed - len(own_words), 0)
    assert used == 3


def test_rows_that_are_refused_do_not_depend_on_the_blocks(monkeypatch):
    oracle = create("SS", k=10, epsilon="1", omega=3)
    rng = np.random.default_rng(1)
    words = draw(rng, 50, 4)
    words[::5, 3] = LARGEST
    values = rng.integers(0, 10, 50)
    whole = perturb(oracle, values, Scripted(words))
    monkeypatch.setattr("hushpoll_protocols.kernels.WORDS_PER_BLOCK", 12)
    assert np.array_equal(perturb(oracle, values, Scripted(words)), whole)


def test_hash_buckets_at_the_largest_word_wrap_as_on_the_scalar_side():
    oracle = create("OLH", k=300, epsilon="1", g=7)
    seeds = (0, 1, 2**32 - 1, 2**32, 2**63, LARGEST)
    records = np.array(
        [
            list(a.to_bytes(8, "little") + b.to_bytes(8, "little") + bytes([y, 0]))
            for a in seeds
            for b in seeds
            for y in range(7)
        ],
        np.uint8,
    )
    expected = np.zeros((len(records), 300), np.uint8)
    for row, record in zip(expected, records, strict=True):
        row[list(oracle.support(record.tobytes()))] = 1
    assert np.array_equal(indicators(oracle, records), expected)
    assert np.array_equal(support_counts(oracle, records), expected.sum(0, dtype=np.int64))
    # Each value is in exactly one of a hash's seven buckets.
    assert support_counts(oracle, records).tolist() == [len(seeds) ** 2] * 300
