"""Regressions of questions of a block, where some answers cannot be, or others are not asked about.

The records of a block are read for the questions that a formula names. That this needs no model of
the others is enumerated; that limited select-alls and follow-ups are fitted is simulated.
"""

from itertools import product

import numpy as np
import pytest

from hushpoll_analysis.planning.expected_slopes import Slope, slope_power
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.regression.answers import patterns_of
from hushpoll_analysis.regression.combinations import combinations_of
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.survey import answers_of, checked_formula
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import perturb
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many

CELLS = np.array([0, 1, 0, 2, 1])
N = 12_000
DRAFT = {
    "name": "nights",
    "version": 1,
    "title": "Nights",
    "epsilon": "6",
    "protocol": "SS",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {
            "name": "daily",
            "role": "sensitive",
            "categories": ["some", "each"],
            "ask_if": {"smokes": ["yes"]},
        },
        {
            "name": "awake",
            "role": "sensitive",
            "categories": ["work", "money", "noise"],
            "select": {"at_most": 2},
            "want": "pairs",
        },
        {"name": "age", "role": "plain", "categories": ["young", "old"]},
    ],
    "together": [{"name": "smoking", "attributes": ["smokes", "daily"]}],
}


@pytest.fixture(scope="module")
def published():
    return Manifest.from_dict(DRAFT).resolve()


@pytest.fixture(scope="module")
def records(published):
    rng = np.random.default_rng(12)

    def drawn(eta):
        return (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(np.int64)

    age = rng.integers(0, 2, N)
    smokes = drawn(0.8 * age - 0.3)
    daily = np.where(smokes == 1, drawn(0.4 - 1.0 * age), 2)
    work = drawn(0.7 * age - 0.5)
    money = drawn(1.2 * work - 0.8)
    noise = np.where(work + money == 2, 0, drawn(np.full(N, -0.4)))
    codes = {"smokes": smokes, "daily": daily, "age": age}
    codes |= {"awake_1": work, "awake_2": money, "awake_3": noise}
    return Records(published, encode_many(published, codes, rng))


@pytest.mark.parametrize("protocol", ["GRR", "RAPPOR", "OUE", "SS", "THE"])
def test_law_of_the_named_questions_hangs_on_their_answers_alone(protocol):
    k = len(CELLS)
    oracle = create(protocol, k=k, epsilon="0.5")
    every = [bytes([one]) for one in range(k if oracle.names_one_value else 2**k)]
    if protocol == "SS":
        assert oracle.omega == 2
        every = [record for record in every if record[0].bit_count() == 2]
    law = np.array([[float(oracle.probability(one, v)) for v in range(k)] for one in every])
    assert law.sum(axis=0) == pytest.approx(np.ones(k))
    records = np.frombuffer(b"".join(every), np.uint8).reshape(-1, 1)
    patterns, places = patterns_of(oracle, records, CELLS)
    of_pattern = np.zeros((len(patterns.table), k))
    np.add.at(of_pattern, places, law)
    for cell in range(3):
        mine = of_pattern[:, cell == CELLS]
        assert mine == pytest.approx(np.broadcast_to(mine[:, :1], mine.shape))
    of_cell = of_pattern[:, [0, 1, 3]]
    likely = patterns.likelihood(np.arange(len(patterns.table)))
    shares = of_cell / of_cell.sum(axis=1, keepdims=True)
    assert likely / likely.sum(axis=1, keepdims=True) == pytest.approx(shares)
    assert of_cell.T @ patterns.debiased(np.arange(len(of_cell))) == pytest.approx(np.eye(3))
    told = (shares.T * of_cell.mean(axis=1)) @ shares
    assert patterns.even_products(places, np.ones(1)) == pytest.approx(told, abs=0.01)


def test_of_local_hashing_it_does_on_average():
    oracle, n = create("OLH", k=5, epsilon="1.5"), 40_000
    rng = np.random.default_rng(3)
    values = np.repeat([0, 2, 1, 4, 3], n)
    patterns, places = patterns_of(oracle, perturb(oracle, values, rng), CELLS)
    shares = np.stack(
        [np.bincount(part, minlength=len(patterns.table)) / n for part in places.reshape(5, n)]
    )
    assert shares[0] == pytest.approx(shares[1], abs=0.012)
    assert shares[2] == pytest.approx(shares[3], abs=0.012)
    means = patterns.debiased(places).reshape(5, n, 3).mean(axis=1)
    assert means == pytest.approx(np.eye(3)[[0, 0, 1, 1, 2]], abs=0.03)


@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("awake_1 ~ age", {"age[T.old]": 0.7}),
        ("awake_2 ~ awake_1 + age", {"awake_1[T.selected]": 1.2, "age[T.old]": 0.0}),
        ("smokes ~ age", {"age[T.old]": 0.8}),
        ("smokes ~ awake_1 + awake_2 + age", {"age[T.old]": 0.8, "awake_1[T.selected]": 0.0}),
        ("daily ~ age", {"each: age[T.old]": -1.0}),
        ("age ~ daily", {"daily[T.each]": -1.0}),
    ],
)
def test_options_and_follow_ups_are_outcome_and_predictor(records, formula, truth):
    found = fit(formula, answers_of(records, formula), effects=False, ratios=False)
    assert found.converged
    by_name = {one.name: one for one in found.coefficients}
    for name, wanted in truth.items():
        assert abs(by_name[name].estimate - wanted) < 3.5 * by_name[name].standard_error, name
        assert by_name[name].standard_error < 0.25
    assert any("not everybody was asked daily" in one for one in found.notes) == (
        formula == "daily ~ age"
    )


def test_adjusted_odds_and_means_take_the_combinations_that_can_be(records):
    found = fit("awake_2 ~ awake_1 + age", answers_of(records, "awake_2 ~ awake_1 + age"))
    (odds,) = found.adjusted_odds
    assert odds.lower < np.exp(1.2) < odds.upper


def test_other_questions_of_the_block_do_not_change_a_slope():
    """They did where they go together with the outcome: by a half, at epsilon 1."""
    draft = {
        "name": "lives",
        "version": 1,
        "title": "Lives",
        "epsilon": "1",
        "protocol": "GRR",
        "attributes": [
            {"name": "y", "role": "sensitive", "categories": ["no", "yes"]},
            {"name": "d", "role": "sensitive", "categories": ["no", "yes"]},
            {"name": "x", "role": "plain", "categories": ["a", "b"]},
        ],
        "together": [{"name": "block", "attributes": ["y", "d"]}],
    }
    published, n = Manifest.from_dict(draft).resolve(), 120_000
    rng = np.random.default_rng(8)
    x = rng.integers(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(1.0 - x))).astype(np.int64)
    d = (rng.random(n) < 1 / (1 + np.exp(1.0 - 3 * y - x))).astype(np.int64)
    records = Records(published, encode_many(published, {"y": y, "d": d, "x": x}, rng))
    found = fit("y ~ x", answers_of(records, "y ~ x"), effects=False)
    slope = found.coefficients[1]
    assert slope.standard_error < 0.06
    assert abs(slope.estimate - 1.0) < 3.5 * slope.standard_error


@pytest.mark.parametrize(
    ("formula", "family", "words"),
    [
        (
            "smokes ~ daily + age",
            None,
            "nobody can answer smokes = no and daily = some, as the survey asks them, and a slope "
            "cannot say so; leave daily out",
        ),
        ("daily ~ smokes", None, "leave smokes out"),
        ("awake_3 ~ awake_1 + awake_2", None, "leave awake_1 or awake_2 out"),
        ("daily ~ age", "ordered", "'not asked', which has no place in an order"),
        ("daily ~ age", "logit", "give the family multinomial"),
    ],
)
def test_what_no_slope_can_say_is_refused_by_its_answers(published, formula, family, words):
    with pytest.raises(InvalidParameter) as caught:
        checked_formula(published, formula, family=family)
    assert words in str(caught.value)


def test_follow_up_beside_its_router_repeats_it(records):
    with pytest.raises(InvalidParameter, match=r"column daily\[T.not asked\] of the term"):
        fit("age ~ smokes + daily", answers_of(records, "age ~ smokes + daily"))


def test_power_is_planned_of_options(published):
    def power(predictors, value):
        slope = Slope(published.digest, "awake_3", predictors, value, 0.4, 0.5, published=published)
        return slope_power(slope, 4_000, 0.95)

    assert power(("awake_1", "age"), 0.0) == pytest.approx(0.05, abs=0.01)
    assert 0.5 < power(("awake_1", "age"), 0.3) < 0.99


def test_combinations_of_some_questions_are_those_that_can_be(published):
    block = next(one for one in published.blocks if one.name == "awake")
    found, cells = combinations_of(block, {"awake_3", "awake_1"})
    assert (found.k, found.numbers) == (4, None)
    wanted = [2 * a + c for a, b, c in product((0, 1), repeat=3) if a + b + c < 3]
    assert cells.tolist() == wanted
    whole, every = combinations_of(block, {"awake_1", "awake_2", "awake_3"})
    assert (whole.k, every) == (7, None)
    codes = {name: np.array([0, 1]) for name in ("awake_1", "awake_2", "awake_3")}
    assert whole.numbered(codes).tolist() == [0, -1]
