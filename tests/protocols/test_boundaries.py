"""What each draw does at and around its thresholds, word by word, as the design writes it down.

The law alone does not fix which word gives which record; vectors shared with other languages do.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from exact_law import Q

from hushpoll_protocols import ReplayBits, create
from hushpoll_protocols.oracles.local_hashing import bucket


def _record(oracle, value: int, *words: int) -> bytes:
    bits = ReplayBits(words)
    record = oracle.randomize(value, bits)
    assert bits.consumed == len(words)
    return record


@pytest.mark.parametrize("epsilon", ["0.000001", "1", "5", "64"])
@pytest.mark.parametrize("k", [2, 3, 7, 256, 257, 1000])
def test_grr_word_below_k_minus_1_times_r_names_the_other_value_that_it_divides_to(
    k: int, epsilon: str
) -> None:
    oracle = create("GRR", k=k, epsilon=epsilon)
    r = oracle.thresholds["R"]
    for value in {0, 1, k // 2, k - 1}:
        others = [v for v in range(k) if v != value]
        for i, other in enumerate(others):
            for word in (i * r, (i + 1) * r - 1):
                assert oracle.support(_record(oracle, value, word)) == (other,)
        for word in ((k - 1) * r, Q - 1):
            assert oracle.support(_record(oracle, value, word)) == (value,)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_grr_outputs_are_runs_of_exactly_r_words(k: int) -> None:
    oracle = create("GRR", k=k, epsilon="1.5")
    r = oracle.thresholds["R"]
    for value in range(k):
        # Bisect for the ends of the runs without using R, then measure the runs.
        ends = [0, *_run_ends(lambda w, v=value: _record(oracle, v, w)), Q]
        runs = {_record(oracle, value, start): end - start for start, end in pairwise(ends)}
        truth = value.to_bytes(1, "little")
        assert runs.pop(truth) == Q - (k - 1) * r
        assert list(runs.values()) == [r] * (k - 1)


def _run_ends(output, pieces: int = 64) -> list[int]:
    ends = []
    grid = [Q * i // pieces for i in range(pieces)] + [Q - 1]
    for low, high in pairwise(grid):
        while output(low) != output(high):
            start, end = low, high
            while end - start > 1:
                middle = (start + end) // 2
                start, end = (middle, end) if output(middle) == output(low) else (start, middle)
            ends.append(end)
            low = end
    return ends


@pytest.mark.parametrize("name", ["BLH", "OLH"])
def test_local_hashing_takes_a_then_b_then_the_word_of_randomized_response(name: str) -> None:
    oracle = create(name, k=11, epsilon="1.5")
    g, r = oracle.parameters.get("g", 2), oracle.thresholds["R"]
    a, b = 0x0123456789ABCDEF, 0xFEDCBA9876543210
    for value in range(11):
        truth = bucket(a, b, value, g)
        others = [y for y in range(g) if y != truth]
        expected = [(i * r, y) for i, y in enumerate(others)]
        expected += [((i + 1) * r - 1, y) for i, y in enumerate(others)]
        expected += [((g - 1) * r, truth), (Q - 1, truth)]
        for word, y in expected:
            assert _record(oracle, value, a, b, word) == b"".join(
                (a.to_bytes(8, "little"), b.to_bytes(8, "little"), y.to_bytes(2, "little"))
            )


@pytest.mark.parametrize("name", ["RAPPOR", "OUE", "THE"])
@pytest.mark.parametrize("k", [2, 8, 9, 17])
def test_bit_is_set_when_its_own_word_is_below_its_threshold(name: str, k: int) -> None:
    oracle = create(name, k=k, epsilon="2.5")
    p, r = oracle.thresholds["P"], oracle.thresholds["R"]
    for value in range(k):
        for bit in range(k):
            threshold = p if bit == value else r
            for rest, background in ((0, True), (Q - 1, False)):
                for word, is_set in ((threshold - 1, True), (threshold, False)):
                    words = [rest] * k
                    words[bit] = word
                    record = int.from_bytes(_record(oracle, value, *words), "little")
                    expected = ((1 << k) - 1 if background else 0) & ~(1 << bit) | is_set << bit
                    assert record == expected


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_subset_keeps_the_truth_below_p_and_then_follows_floyd(k: int) -> None:
    for omega in range(1, k):
        oracle = create("SS", k=k, epsilon="1", omega=omega)
        keep = oracle.thresholds["P"]
        for value in range(k):
            others = [v for v in range(k) if v != value]
            for word, kept in ((keep - 1, True), (keep, False), (0, True), (Q - 1, False)):
                size = omega - kept
                tail = len(others) - size
                # Index 0 each time: the first draw takes 0, each later one collides and takes the
                # last of its range.
                picked = {0, *range(tail + 1, len(others))} if size else set()
                expected = {others[i] for i in picked} | ({value} if kept else set())
                assert set(oracle.support(_record(oracle, value, word, *[0] * size))) == expected
                # The largest index each time takes the last of each range.
                words = list(range(tail, tail + size))
                expected = {others[i] for i in words} | ({value} if kept else set())
                assert set(oracle.support(_record(oracle, value, word, *words))) == expected


def test_subset_refuses_exactly_the_words_that_would_favour_an_index() -> None:
    oracle = create("SS", k=8, epsilon="1", omega=2)
    lie = oracle.thresholds["P"]
    # Two indices out of 7 others: below 6, then below 7.
    for position, m in ((0, 6), (1, 7)):
        limit = Q - Q % m
        assert limit < Q
        for word, refused in ((limit - 1, False), (limit, True), (Q - 1, True)):
            words = [3, 4]
            words[position : position + 1] = [word, 5] if refused else [word]
            indices = [3, 4]
            indices[position] = 5 if refused else word % m
            if indices[0] == indices[1]:
                indices[1] = 6
            record = _record(oracle, 0, lie, *words)
            assert set(oracle.support(record)) == {i + 1 for i in indices}
    # A power of two divides 2^64: no word is refused.
    oracle = create("SS", k=9, epsilon="1", omega=1)
    assert oracle.support(_record(oracle, 0, Q - 1, Q - 1)) == (8,)


def test_every_run_of_refused_words_is_skipped() -> None:
    oracle = create("SS", k=6, epsilon="1", omega=3)
    lie, refused = oracle.thresholds["P"], Q - 1
    plain = _record(oracle, 2, lie, 1, 2, 3)
    assert _record(oracle, 2, lie, refused, refused, 1, 2, refused, 3) == plain
