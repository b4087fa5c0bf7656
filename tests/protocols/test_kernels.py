"""The array interface: what it refuses, layouts it accepts, blocks, threads and processes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from hushpoll_protocols import PROTOCOLS, InvalidParameter, MalformedRecord, create
from hushpoll_protocols.kernels import (
    MALFORMED_REASONS,
    blocks,
    compilation,
    indicators,
    malformed,
    perturb,
    support_counts,
)
from hushpoll_protocols.kernels.words import GeneratorBits, draw
from waiting import LONGEST_SECONDS

READERS = (indicators, support_counts, malformed)


@pytest.fixture(params=PROTOCOLS)
def survey(request):
    """An oracle over 11 values, 500 values and their records."""
    oracle = create(request.param, k=11, epsilon="1")
    rng = np.random.default_rng(5)
    values = rng.integers(0, 11, 500)
    return oracle, values, perturb(oracle, values, rng)


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Hundreds of blocks where there would be one."""
    monkeypatch.setattr("hushpoll_protocols.kernels.WORDS_PER_BLOCK", 40)
    monkeypatch.setattr("hushpoll_protocols.kernels.CELLS_PER_BLOCK", 40)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_values_of_any_integer_type_give_the_same_records(survey, dtype):
    oracle, values, _ = survey
    expected = perturb(oracle, values, np.random.default_rng(1))
    codes = values.astype(dtype)
    assert np.array_equal(perturb(oracle, codes, np.random.default_rng(1)), expected)
    wide = np.zeros((500, 3), dtype)
    wide[:, 1] = codes
    assert np.array_equal(perturb(oracle, wide[:, 1], np.random.default_rng(1)), expected)
    assert np.array_equal(
        perturb(oracle, codes[::-1], np.random.default_rng(1)),
        perturb(oracle, codes[::-1].copy(), np.random.default_rng(1)),
    )


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.0, 1.0]),
        np.array([True, False]),
        np.array(["0"]),
        np.zeros((2, 2), int),
        np.int64(1),
        [],
    ],
)
def test_values_must_be_one_dimensional_integers(values):
    oracle = create("GRR", k=4, epsilon="1")
    with pytest.raises(InvalidParameter, match="one-dimensional integer") as caught:
        perturb(oracle, values, np.random.default_rng(1))
    assert caught.value.field == "values"


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("value", [-1, 4, 777, -(2**63), 2**63 - 1])
def test_a_value_outside_the_domain_is_named_by_its_index_alone(name, value):
    oracle = create(name, k=4, epsilon="1")
    with pytest.raises(InvalidParameter, match=r"values\[2\] is not a code in \[0, 3\]") as caught:
        perturb(oracle, np.array([0, 3, value, value]), np.random.default_rng(1))
    assert caught.value.field == "values"
    if abs(value) > 4:
        assert str(value) not in str(caught.value)


def test_an_unsigned_value_too_large_for_a_signed_one_is_refused():
    oracle = create("OUE", k=4, epsilon="1")
    with pytest.raises(InvalidParameter, match=r"values\[1\]"):
        perturb(oracle, np.array([0, 2**64 - 1], np.uint64), np.random.default_rng(1))


@pytest.mark.parametrize("rng", [None, 7, np.random.RandomState(7)])
def test_randomness_must_be_a_generator(rng):
    with pytest.raises(InvalidParameter, match="default_rng") as caught:
        perturb(create("GRR", k=4, epsilon="1"), np.array([0]), rng)
    assert caught.value.field == "rng"


@pytest.mark.parametrize("read", READERS)
def test_records_must_be_bytes_of_the_protocols_size(survey, read):
    oracle, _, records = survey
    wrong = [
        records.tobytes(),
        records.tolist(),
        records[0],
        records.astype(np.int64),
        records.view(np.int8),
        np.hstack([records, records[:, :1]]),
        records[:, 1:],
        records[:, :, None],
    ]
    for wrong_records in wrong:
        with pytest.raises(InvalidParameter, match=rf"\(n, {oracle.record_size}\)") as caught:
            read(oracle, wrong_records)
        assert caught.value.field == "records"


def test_nothing_in_gives_nothing_out(survey):
    oracle, _, records = survey
    empty = perturb(oracle, np.zeros(0, int), np.random.default_rng(1))
    assert empty.shape == (0, oracle.record_size)
    assert empty.dtype == np.uint8
    assert indicators(oracle, records[:0]).shape == (0, 11)
    assert support_counts(oracle, records[:0]).tolist() == [0] * 11
    assert malformed(oracle, records[:0]).shape == (0,)


@pytest.mark.parametrize("read", READERS)
def test_layout_and_mutability_of_records_do_not_matter(survey, read):
    oracle, _, records = survey
    expected = read(oracle, records)
    n, size = records.shape
    wide = np.full((n, size + 7), 255, np.uint8)
    wide[:, 3 : 3 + size] = records
    strided = np.full((2 * n, size), 255, np.uint8)
    strided[::2] = records
    views = [
        wide[:, 3 : 3 + size],
        strided[::2],
        np.asfortranarray(records),
        np.frombuffer(records.tobytes(), np.uint8).reshape(n, size),
        records[::-1].copy()[::-1],
    ]
    for view in views:
        assert np.array_equal(read(oracle, view), expected)
    assert np.array_equal(wide[:, 3 : 3 + size], records)
    assert (wide[:, :3] == 255).all()


@pytest.mark.parametrize("read", [indicators, support_counts])
def test_the_first_malformed_record_is_refused(read, tiny_blocks):
    oracle = create("SS", k=11, epsilon="1", omega=3)
    records = perturb(oracle, np.zeros(200, int), np.random.default_rng(1))
    records[190] = 255
    records[137] = 0
    with pytest.raises(MalformedRecord, match=r"records\[137\] .*popcount") as caught:
        read(oracle, records)
    assert caught.value.reason == "popcount"
    assert np.flatnonzero(malformed(oracle, records)).tolist() == [137, 190]
    assert MALFORMED_REASONS[malformed(oracle, records)[190]] == "padding"


def test_blocks_do_not_change_results(survey, monkeypatch):
    oracle, values, records = survey
    whole = perturb(oracle, values, np.random.default_rng(9))
    expected = [read(oracle, records) for read in READERS]
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr("hushpoll_protocols.kernels.WORDS_PER_BLOCK", size)
        monkeypatch.setattr("hushpoll_protocols.kernels.CELLS_PER_BLOCK", size)
        assert np.array_equal(perturb(oracle, values, np.random.default_rng(9)), whole)
        for read, result in zip(READERS, expected, strict=True):
            assert np.array_equal(read(oracle, records), result)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_results(survey, tiny_blocks, monkeypatch, threads):
    oracle, values, _ = survey
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
    records = perturb(oracle, values, np.random.default_rng(9))
    words = draw(np.random.default_rng(9), 500, 1)
    if oracle.name == "GRR":
        lie = (words[:, 0] < np.uint64((oracle.k - 1) * oracle.R))[:, None]
        assert np.array_equal(records != values[:, None], lie)
    assert np.array_equal(support_counts(oracle, records), indicators(oracle, records).sum(0))
    monkeypatch.undo()
    assert np.array_equal(perturb(oracle, values, np.random.default_rng(9)), records)


@pytest.mark.parametrize(
    "bit_generator", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64]
)
def test_any_bit_generator_gives_block_independent_records(bit_generator, monkeypatch):
    oracle = create("OLH", k=11, epsilon="1")
    values = np.arange(200) % 11
    whole = perturb(oracle, values, np.random.Generator(bit_generator(3)))
    monkeypatch.setattr("hushpoll_protocols.kernels.WORDS_PER_BLOCK", 10)
    again = perturb(oracle, values, np.random.Generator(bit_generator(3)))
    assert np.array_equal(again, whole)


def test_concurrent_callers_do_not_disturb_each_other(tiny_blocks):
    jobs = []
    for seed, name in enumerate(list(PROTOCOLS) * 3):
        oracle = create(name, k=19, epsilon="1")
        jobs.append((oracle, np.random.default_rng(seed).integers(0, 19, 300), seed))

    def play(job):
        oracle, values, seed = job
        records = perturb(oracle, values, np.random.default_rng(seed))
        return records, support_counts(oracle, records), indicators(oracle, records)

    expected = [play(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(play, jobs))
    for got, want in zip(results, expected, strict=True):
        for left, right in zip(got, want, strict=True):
            assert np.array_equal(left, right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes_after_its_parent_did():
    # GNU OpenMP, numba's usual layer, kills such a child. In an interpreter of its own, which
    # pytest's threads and warnings filters do not disturb.
    check = """
import os
import numpy as np
from hushpoll_protocols import create
from hushpoll_protocols.kernels import perturb, support_counts

def count():
    oracle = create("OLH", k=74, epsilon="1")
    records = perturb(oracle, np.zeros(100_000, int), np.random.default_rng(1))
    return support_counts(oracle, records).tolist()

expected = count()
child = os.fork()
if child == 0:
    os._exit(0 if count() == expected else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.stdout == "0\n"


def test_a_failing_job_is_raised_and_the_first_in_order_wins():
    def fail(index):
        raise ValueError(f"job {index}")

    def nothing():
        pass

    jobs = [nothing, nothing, lambda: fail(2), nothing, lambda: fail(4)]
    with pytest.raises(ValueError, match="job 2"):
        blocks.run(jobs)


def test_only_a_few_jobs_are_started_ahead(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    done = []
    lead = []

    def jobs():
        for index in range(100):
            lead.append(index - len(done))
            yield lambda: done.append(None)

    blocks.run(jobs())
    assert len(done) == 100
    assert max(lead) <= 4


def test_generator_bits_hand_out_earlier_words_first():
    bits = GeneratorBits(np.random.default_rng(3), [7, 8, 9])
    more = draw(np.random.default_rng(3), 1, 3)[0].tolist()
    assert bits.word() == 7
    assert list(bits.words(3)) == [8, 9, more[0]]
    assert list(bits.words(2)) == more[1:]
    assert list(bits.words(0)) == []


def test_words_are_uniform_over_all_64_bits():
    words = draw(np.random.default_rng(3), 1000, 10)
    assert words.dtype == np.uint64
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(0, dtype=np.int64)
    # 10,000 fair coins per bit: six standard deviations are 300.
    assert (abs(ones - 5000) < 300).all()


def test_where_no_cache_can_be_written_kernels_compile_in_memory(monkeypatch):
    real = numba.njit

    def without_cache(*, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", without_cache)

    @compilation.njit
    def double(x):
        return x + x

    assert double(21) == 42


@pytest.mark.parametrize("absent", ["numpy", "numba"])
@pytest.mark.parametrize("module", ["kernels", "estimation.likelihood"])
def test_without_the_extra_the_error_names_it(module, absent):
    check = (
        "import sys\n"
        f"sys.modules[{absent!r}] = None\n"
        "import hushpoll_protocols\n"
        "try:\n"
        f"    import hushpoll_protocols.{module}\n"
        "except hushpoll_protocols.MissingExtra as error:\n"
        "    print(error.extra, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.stdout.startswith("kernels ")
    assert "pip install '.[kernels]'" in done.stdout


@pytest.mark.parametrize("module", ["estimation", "estimation.projection"])
def test_statistics_without_numpy_name_the_extra(module):
    check = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "import hushpoll_protocols\n"
        "try:\n"
        f"    import hushpoll_protocols.{module}\n"
        "except hushpoll_protocols.MissingExtra as error:\n"
        "    print(error.extra)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.stdout == "kernels\n"
