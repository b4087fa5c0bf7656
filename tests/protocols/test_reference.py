"""Agreement with multi-freq-ldpy, the reference library of the experiments.

Where the parameters coincide: same p and q, same law of the client's output, same estimates from
the same reports. Where they do not, and who deviates:

- OLH: its g is round(e^epsilon) + 1, whatever the domain; ours has the least variance at frequency
  1/k. We build ours with its g, as a manifest may.
- SS: it rounds k/(e^epsilon + 1) to the nearest integer; we compare both neighbours by variance.
- THE: it sends noisy floats and has the server cut them at a theta found to some 1e-5; we send the
  bits, cut at four published decimals.
- Hashing: xxhash over the decimal spelling, with seeds that xxhash truncates to 32 bits and a
  remainder modulo g that favours small buckets; the law given a hash is all that can agree.
- Every estimator clips negative estimates and normalises inside; ours are clipped here to compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numba
import numpy as np
import pytest
import xxhash
from conformance import check_chi_squared, check_count, suffixes
from multi_freq_ldpy.estimators.Histogram_estimator import MI
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Aggregator_MI, HE_Client, find_tresh
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from scipy.optimize import minimize_scalar

from hushpoll_protocols import FrequencyOracle, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_protocols.record_forms import pack

K = 5
THEIRS = ("GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE")
"""The protocols that the library has; a protocol that is added here has no peer there."""


@numba.njit
def _seed_compiled(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002 (the generator that the reference's compiled code draws from)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    # It draws from two global generators: numba's in compiled code, numpy's for its hash seeds.
    _seed_compiled(2017)
    np.random.seed(2017)  # noqa: NPY002 (see above)


def _theta(epsilon: float) -> float:
    minimum = minimize_scalar(find_tresh, bounds=[0.5, 1], method="bounded", args=(epsilon))
    return float(minimum.x)


def _their_p_q(name: str, k: int, epsilon: float) -> tuple[float, float]:
    """Their formulas, as their aggregators have them."""
    e = float(np.exp(epsilon))
    if name == "GRR":
        return e / (e + k - 1), 1 / (e + k - 1)
    if name in ("BLH", "OLH"):
        g = round(e) + 1 if name == "OLH" else 2
        return e / (e + g - 1), 1 / g
    if name == "RAPPOR":
        root = float(np.exp(epsilon / 2))
        return root / (root + 1), 1 / (root + 1)
    if name == "OUE":
        return 1 / 2, 1 / (e + 1)
    if name == "SS":
        w = int(max(1, np.rint(k / (e + 1))))
        weight = w * e + k - w
        return w * e / weight, ((w - 1) * w * e + (k - w) * w) / ((k - 1) * weight)
    theta = _theta(epsilon)
    return 1 - np.exp(epsilon * (theta - 1) / 2) / 2, np.exp(-epsilon * theta / 2) / 2


EPSILONS = [0.7, 2.0, 3.0]


def _with_their_g(name: str, k: int, epsilon: float) -> FrequencyOracle:
    parameters = {"g": round(float(np.exp(epsilon))) + 1} if name == "OLH" else {}
    return create(name, k=k, epsilon=epsilon, **parameters)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 5, 16, 74])
@pytest.mark.parametrize("name", THEIRS)
def test_p_and_q_are_the_same_numbers(name: str, k: int, epsilon: float) -> None:
    oracle = _with_their_g(name, k, epsilon)
    ours = np.array([float(oracle.p), float(oracle.q)])
    # Theirs is not cut to four decimals: theta may differ by 5e-5 and what their search leaves.
    tolerance = 1e-4 * epsilon if name == "THE" else 1e-14
    assert np.allclose(ours, _their_p_q(name, k, epsilon), rtol=tolerance, atol=0)


def test_where_the_roundings_part() -> None:
    average = Fraction(1, 5)
    assert create("OLH", k=5, epsilon="1").parameters == {"g": 3}
    assert _their_p_q("OLH", 5, 1.0)[1] == 1 / 4
    of_four = create("OLH", k=5, epsilon="1", g=4).variance(average)
    assert of_four > create("OLH", k=5, epsilon="1").variance(average)
    # k/(e^epsilon + 1) is 1.487 here: the nearest size is 1, but 2 has the smaller variance.
    ours = create("SS", k=5, epsilon="0.86")
    theirs = create("SS", k=5, epsilon="0.86", omega=1)
    assert ours.parameters == {"omega": 2}
    assert np.allclose([float(theirs.p), float(theirs.q)], _their_p_q("SS", 5, 0.86), rtol=1e-14)
    assert theirs.variance(average) > ours.variance(average) * Fraction("1.017")


def _reported(name: str, epsilon: float) -> Callable[[int], bytes]:
    """One report of the reference's client as a record of ours."""
    if name == "GRR":
        return lambda value: bytes([GRR_Client(value, K, epsilon)])
    if name in ("RAPPOR", "OUE"):
        return lambda value: pack(np.flatnonzero(UE_Client(value, K, epsilon, name == "OUE")), K)
    if name == "SS":
        return lambda value: pack((int(v) for v in SS_Client(value, K, epsilon)), K)
    theta = _theta(epsilon)
    return lambda value: pack(np.flatnonzero(HE_Client(value, K, epsilon) > theta), K)


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", [0.7, 2.0])
@pytest.mark.parametrize("name", ["GRR", "RAPPOR", "OUE", "SS", "THE"])
def test_their_client_draws_from_our_law(name: str, epsilon: float) -> None:
    oracle, report, n = create(name, k=K, epsilon=epsilon), _reported(name, epsilon), 8000
    for value in (0, K - 1):
        tally = Counter(report(value) for _ in range(n))
        law = {z: float(oracle.probability(z, value)) for z in suffixes(oracle)}
        assert set(tally) <= set(law)
        check_chi_squared([(tally[z], n * share) for z, share in law.items()])


@pytest.mark.parametrize("name", ["BLH", "OLH"])
def test_their_hashing_client_keeps_the_truth_as_often_as_ours(name: str) -> None:
    epsilon, n = 0.7, 8000
    oracle = _with_their_g(name, K, epsilon)
    g = round(1 / oracle.q)
    truths = others = 0
    for _ in range(n):
        y, seed = LH_Client(3, K, epsilon, name == "OLH")
        truths += int(xxhash.xxh32("3", seed=seed).intdigest() % g == y)
        others += int(xxhash.xxh32("1", seed=seed).intdigest() % g == y)
    check_count(truths, n, oracle.p)
    check_count(others, n, oracle.q)


def _counts(oracle: FrequencyOracle, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(44)
    values = rng.choice(oracle.k, size=n, p=[0.5, 0.3, 0.2, 0, 0])
    supported = indicators(oracle, perturb(oracle, values, rng))
    return supported, supported.sum(0, dtype=np.int64)


def _clipped(frequency: np.ndarray) -> np.ndarray:
    kept = frequency.clip(0)
    return kept / kept.sum()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", THEIRS)
def test_their_estimator_gives_our_estimates_clipped(name: str, epsilon: float) -> None:
    oracle, n = _with_their_g(name, K, epsilon), 3000
    _, counts = _counts(oracle, n)
    ours = estimate(oracle, counts, n, estimator="raw").frequency
    theirs = MI(counts, n, *_their_p_q(name, K, epsilon))
    assert np.allclose(_clipped(ours), theirs, atol=1e-3 if name == "THE" else 1e-12)


@pytest.mark.parametrize("name", ["GRR", "RAPPOR", "OUE", "SS"])
def test_their_aggregator_takes_our_reports_and_gives_our_estimates(name: str) -> None:
    epsilon, n = 2.0, 3000
    oracle = create(name, k=K, epsilon=epsilon)
    supported, counts = _counts(oracle, n)
    if name == "GRR":
        theirs = GRR_Aggregator_MI(list(supported.argmax(1)), K, epsilon)
    elif name == "SS":
        theirs = SS_Aggregator_MI([np.flatnonzero(row) for row in supported], K, epsilon)
    else:
        # As floats, which is what its client sends: it adds in the dtype that it is given.
        theirs = UE_Aggregator_MI(list(supported.astype(float)), epsilon, name == "OUE")
    assert np.allclose(
        _clipped(estimate(oracle, counts, n, estimator="raw").frequency), theirs, atol=1e-12
    )


def test_their_thresholding_aggregator_gives_our_estimates() -> None:
    epsilon, n = 2.0, 3000
    oracle = create("THE", k=K, epsilon=epsilon)
    supported, counts = _counts(oracle, n)
    theirs = HE_Aggregator_MI(list(supported.astype(float)), K, epsilon)
    assert np.allclose(
        _clipped(estimate(oracle, counts, n, estimator="raw").frequency), theirs, atol=1e-3
    )


@pytest.mark.parametrize("name", ["BLH", "OLH"])
def test_their_hashing_pipeline_gives_our_estimates(name: str) -> None:
    # Their hash is not ours, so reports cannot be exchanged: both must be near the truth, and
    # our estimator on their support counts must be theirs.
    epsilon, n, truth = 2.0, 4000, np.array([0.5, 0.3, 0.2, 0, 0])
    oracle = _with_their_g(name, K, epsilon)
    g = round(1 / oracle.q)
    values = np.random.default_rng(3).choice(K, size=n, p=truth)
    reports = [LH_Client(int(value), K, epsilon, name == "OLH") for value in values]
    theirs = LH_Aggregator_MI(reports, K, epsilon, name == "OLH")
    counts = np.array(
        [
            sum(xxhash.xxh32(str(v), seed=s).intdigest() % g == y for y, s in reports)
            for v in range(K)
        ]
    )
    estimates = estimate(oracle, counts, n, estimator="raw")
    assert np.allclose(_clipped(estimates.frequency), theirs, atol=1e-12)
    assert (abs(estimates.frequency - truth) < 5 * estimates.standard_error).all()
    ours = estimate(oracle, _counts(oracle, n)[1], n)
    assert (abs(ours.frequency - truth) < 5 * ours.standard_error).all()
